// Ranks of one machine meet, again and again, each with what the others said; nobody is waited for without an end.
//
//   mpirun -n 4 cpize_meeting_test
#include "comm/mpi/meeting.hpp"

#include <gtest/gtest.h>

namespace cpize::comm::mpi {
namespace {

Endpoint* endpoint = nullptr;

TEST(Meeting, EachHearsEverybodyAndOldMeetingsAreOver) {
  ASSERT_TRUE(endpoint->one_machine());
  for (int round = 0; round < 5; ++round) {
    const Meeting meeting(*endpoint, std::chrono::seconds(20));
    const auto name = [](int rank) { return "name/" + std::to_string(rank); };
    meeting.store().put(name(endpoint->rank()), std::to_string(100 * round + endpoint->rank()));
    for (int r = 0; r < endpoint->size(); ++r)
      ASSERT_EQ(meeting.store().get(name(r)), std::to_string(100 * round + r)) << meeting.store().text;
    meeting.leave();
  }
}

TEST(Meeting, WhoDoesNotComeIsNotWaitedForWithoutAnEnd) {
  const Meeting meeting(*endpoint, std::chrono::seconds(3));
  EXPECT_THROW(meeting.store().get("never said"), std::exception);
  meeting.leave();
}

TEST(Endpoint, EverybodyHasTheTextOfRank0) {
  const std::string long_text(100'000, 'x'), mine = endpoint->rank() == 0 ? long_text : "other";
  EXPECT_EQ(endpoint->from_rank_0(mine), long_text);
  EXPECT_EQ(endpoint->from_rank_0(endpoint->rank() == 0 ? "" : "other"), "");
}

}  // namespace
}  // namespace cpize::comm::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  cpize::comm::mpi::Endpoint world(1 << 20);
  cpize::comm::mpi::endpoint = &world;
  const int status = RUN_ALL_TESTS();
  if (status == 0) world.finalize();
  return status;
}
