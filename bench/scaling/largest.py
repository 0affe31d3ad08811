"""The largest N that fits, from probes that are run in ascending order and end at the first that does not."""
import math

GROWTH = 1.25  # where nothing is known about the memory yet


class Search:
    """Sizes are multiples of `step`. `capacity` is the bytes of a rank, or 0 where they are not known."""

    def __init__(self, start, step, capacity):
        self.start, self.step, self.capacity = start, step, capacity
        self.peaks, self.fails = {}, None  # N -> bytes of what fits; the smallest N that does not

    @property
    def fits(self):
        return max(self.peaks, default=0)

    def done(self):
        return self.fails is not None and self.fails - self.fits <= self.step

    def fitted(self, tokens, peak):
        self.peaks[tokens] = peak

    def failed(self, tokens):
        self.fails = min(tokens, self.fails or tokens)

    def _round(self, tokens):
        return max(self.step, int(tokens) // self.step * self.step)

    def _predicted(self):
        """Where peak = a + b N^2 through the two largest sizes meets the capacity."""
        if len(self.peaks) < 2 or self.capacity == 0:
            return self.fits * GROWTH
        small, large = sorted(self.peaks)[-2:]
        b = (self.peaks[large] - self.peaks[small]) / (large**2 - small**2)
        if b <= 0:
            return self.fits * GROWTH
        return min(math.sqrt(max(self.capacity - self.peaks[large] + b * large**2, 0) / b), 16 * large)

    def next(self):
        """What to probe now, ascending, all between what fits and what does not."""
        if not self.peaks and self.fails is None:
            return [self.start, 2 * self.start]
        if self.fails is None:
            guess = self._predicted()
            wanted = [self._round(share * guess) for share in (0.9, 0.97, 1.0, 1.04, 1.1, 1.25)]
        else:
            gap = (self.fails - self.fits) // self.step
            parts = min(gap, 4)  # three probes, or each multiple that is left
            wanted = [self.fits + self.step * (gap * i // parts) for i in range(1, parts)]
        inside = sorted({n for n in wanted if n > self.fits and (self.fails is None or n < self.fails)})
        return inside or [self.fits + self.step]
