// The layouts of a co-folding model: families of tensors that share a global shape, and how their shards are cut.
//
// B batch, N tokens, S MSA rows, A atoms, K windows, C channels. Sizes need not be divisible by the mesh: a dimension
// of n elements cut in P parts gives part p the elements [n p / P, n (p + 1) / P), rounded down; parts may be empty.
#pragma once
#include "layout/layout.hpp"

namespace cpize {

using enum Axis;  // On<cp0, cp1> reads like the table below

// Families. `name` appears in messages.
struct TokenSingle {
  static constexpr const char* name = "tokens";
};
struct TokenPair {
  static constexpr const char* name = "token pairs";
};
struct MsaFamily {
  static constexpr const char* name = "MSA";
};
struct AtomFamily {
  static constexpr const char* name = "atoms";
};
struct WindowFamily {
  static constexpr const char* name = "atom windows";
};

/// [B,N,C], N over cp0 x cp1: the token track at rest, no work is repeated.
struct Single : Layout<TokenSingle, On<dp>, On<cp0, cp1>> {};
/// [B,N,C], N over cp0, the same on all of cp1: row operands of pair blocks.
struct SingleRow : Layout<TokenSingle, On<dp>, On<cp0>> {};
/// [B,N,C], N over cp1, the same on all of cp0: column operands of pair blocks.
struct SingleCol : Layout<TokenSingle, On<dp>, On<cp1>> {};
/// [B,N,C], all tokens of a sample on each of its ranks: masks and other narrow features.
struct SingleWhole : Layout<TokenSingle, On<dp>, On<>> {};

/// [B,N,N,C], rows over cp0, columns over cp1: the pair track at rest.
struct Pair : Layout<TokenPair, On<dp>, On<cp0>, On<cp1>> {};
/// [B,N,N,C,...], channels over cp0 x cp1, stored channel-first [B,C,...,N,N]: triangle multiplication.
struct PairByChannel : Layout<TokenPair, On<dp>, On<>, On<>, On<cp0, cp1>> {
  static constexpr Spec spec = stored(Layout::spec, {0, 3, 4, 5, 1, 2});
};
/// [B,N,N,C], rows over cp0 x cp1: triangle attention, starting node.
struct PairByRow : Layout<TokenPair, On<dp>, On<cp0, cp1>> {};
/// [B,N,N,C], columns over cp1 x cp0 (each stays inside its own column group): triangle attention, ending node.
struct PairByCol : Layout<TokenPair, On<dp>, On<>, On<cp1, cp0>> {};

/// [B,N,N,C], all pairs of a sample on each of its ranks: a head of an attention bias at a time, never channels.
struct PairWhole : Layout<TokenPair, On<dp>, On<>, On<>> {};

/// [B,S,N,C], depth over cp0 x cp1, tokens whole: the MSA track at rest.
struct Msa : Layout<MsaFamily, On<dp>, On<cp0, cp1>> {};
/// [B,S,N,C], tokens over cp0 or cp1, depth whole: operands of the outer product mean.
struct MsaRow : Layout<MsaFamily, On<dp>, On<>, On<cp0>> {};
struct MsaCol : Layout<MsaFamily, On<dp>, On<>, On<cp1>> {};

/// [B,A,C], A over cp0 x cp1.
struct Atom : Layout<AtomFamily, On<dp>, On<cp0, cp1>> {};
/// [B,K,W,(H),C], K over cp0 x cp1.
struct Window : Layout<WindowFamily, On<dp>, On<cp0, cp1>> {};

/// The same on every rank: small things.
template <class Family_>
struct Whole : Layout<Family_> {};

}  // namespace cpize
