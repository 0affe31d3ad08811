"""One program as a world of ranks: threads in one process, or one process a GPU that meet over a file."""
import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time


@dataclasses.dataclass
class Ended:
    status: int  # of the first rank that failed; 0: all ended well; -1: the limit passed
    text: str    # what rank 0 wrote
    errors: str  # what all ranks wrote to stderr
    seconds: float

    @property
    def out_of_memory(self):
        signs = ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation")
        return self.status not in (0, -1) and any(sign in self.errors for sign in signs)

    def last_words(self):
        lines = [line for line in (self.errors.strip() or self.text.strip()).splitlines() if line.strip()]
        if self.status == -1:
            return f"took longer than its limit ({self.seconds:.0f} s)"
        return f"exit code {self.status}: " + (lines[-1][:300] if lines else "no message")


def visible_gpus():
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [gpu for gpu in given.split(",") if gpu.strip() and gpu.strip() != "-1"]
    folder = pathlib.Path("/proc/driver/nvidia/gpus")
    count = len(list(folder.iterdir())) if folder.is_dir() else 0
    if count == 0:
        try:
            listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
            count = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
        except (OSError, subprocess.TimeoutExpired):
            pass
    return [str(i) for i in range(count)]


def gpu_memory():
    """(name, bytes) of the first GPU; ("", 0) where nvidia-smi does not say."""
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"],
                               capture_output=True, text=True, timeout=60)
        name, mebibytes = asked.stdout.splitlines()[0].rsplit(",", 1)
        return name.strip(), int(float(mebibytes)) * 2**20
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        return "", 0


def environments(backend, gpus, meeting, more):
    """Of each process."""
    base = {name: value for name, value in os.environ.items()
            if name not in ("CPIZE_MEASUREMENT", "CPIZE_CELLS", "CPIZE_ARTIFACT", "CPIZE_TASK")} | more
    if backend == "threads":
        return [base]
    return [base | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(len(gpus)),
                    "LOCAL_WORLD_SIZE": str(len(gpus)), "CPIZE_RENDEZVOUS": meeting,
                    "CUDA_VISIBLE_DEVICES": ",".join(gpus)} for rank in range(len(gpus))]


def end(processes):
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    for process in processes:
        process.wait()


def wait(processes, limit, grace):
    """The status of the first that failed; `grace`: seconds that the others then have to end."""
    begin, failed_at, status = time.monotonic(), None, 0
    while any(process.poll() is None for process in processes):
        now = time.monotonic()
        if failed_at is None:
            status = next((p.returncode for p in processes if p.poll() not in (None, 0)), 0)
            failed_at = now if status else None
        if now - begin > limit:
            return -1
        if failed_at is not None and now - failed_at > grace:
            return status
        time.sleep(0.05)
    return status or next((p.returncode for p in processes if p.returncode), 0)


def run(command, backend, gpus, limit, grace, folder, more=None):
    """Starts the ranks in `folder`, waits, leaves none behind."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cpize-scale.") as own:
        out = [open(f"{own}/out.{i}", "w+") for i in range(1 if backend == "threads" else len(gpus))]
        err = [open(f"{own}/err.{i}", "w+") for i in range(len(out))]
        processes = []
        try:
            for i, environment in enumerate(environments(backend, gpus, f"{own}/meeting", more or {})):
                processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                                  stdout=out[i], stderr=err[i], start_new_session=True))
            status = wait(processes, limit, grace)
        finally:
            end(processes)
        texts = []
        for file in [out[0], *err]:
            file.seek(0)
            texts.append(file.read())
        for file in [*out, *err]:
            file.close()
    return Ended(status, texts[0], "\n".join(texts[1:]), time.monotonic() - begin)
