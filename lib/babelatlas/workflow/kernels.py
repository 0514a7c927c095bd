"""Kernels that are forked from the process that runs a notebook, in place of a program that is started anew."""

import os
import signal
import time

KERNELS: list["Forked"] = []  # the kernel of this process's notebook


class Forked:
    """A forked process with the methods of subprocess.Popen that jupyter_client calls."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int):
        self.pid, self.returncode = pid, None

    def poll(self) -> int | None:
        """Return the exit status, None while the process runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process to end."""
        while self.poll() is None:
            time.sleep(0.02)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


def kernel_manager():
    """Return the class of a kernel manager that forks the kernel from this process in place of starting a program."""
    from jupyter_client import AsyncKernelManager, LocalProvisioner

    class ForkingProvisioner(LocalProvisioner):
        async def launch_kernel(self, cmd, **kwargs):
            """Fork; the copy becomes the kernel that the connection file in `cmd` describes."""
            above, pid = os.getpid(), os.fork()
            if pid == 0:
                _become_kernel(cmd[cmd.index("-f") + 1 :], kwargs, above)
            self.process, self.pid, self.pgid = Forked(pid), pid, pid
            KERNELS[:] = [self.process]
            return self.connection_info

    class ForkingKernelManager(AsyncKernelManager):
        async def _async_pre_start_kernel(self, **kwargs):
            self.provisioner = ForkingProvisioner(kernel_id=self.kernel_id, kernel_spec=self.kernel_spec, parent=self)
            return await super()._async_pre_start_kernel(**kwargs)

    return ForkingKernelManager


def _become_kernel(words: list[str], kwargs: dict, above: int) -> None:
    """Run as a kernel until it is shut down or the process `above`, which forked it, has ended; never returns."""
    import asyncio

    from ipykernel.kernelapp import IPKernelApp

    try:
        os.setsid()  # jupyter_client interrupts the process group of a kernel
        asyncio.set_event_loop(asyncio.new_event_loop())  # not that of the process this one was copied from
        os.chdir(kwargs.get("cwd") or ".")
        os.environ.update(kwargs.get("env") or {})
        # ipykernel reads JPY_PARENT_PID when it is imported, which was in another process.
        IPKernelApp.launch_instance(argv=["-f", *words], parent_handle=above)
    finally:
        os._exit(0)
