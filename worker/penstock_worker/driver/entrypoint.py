"""The user's code: found, imported, and judged before it is given a batch.

Knows modules and what `process(df, batch)` must look like. Says what is wrong in one sentence, with the line. Its
modules are imported anew whenever Spark had to be started anew: a UDF made at a module's top belongs to one JVM.
"""

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from penstock_worker.spark.facts import is_in

Process = Callable[..., object]
ARGUMENTS = ("df", "batch")


class EntrypointError(Exception):
    """The code cannot be used as it is; the text is for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Code:
    """What was imported."""

    process: Process
    folders: tuple[Path, ...]
    """Where the user's own lines are, as opposed to libraries'."""
    modules: tuple[ModuleType, ...]
    """The user's own modules."""


def load(entrypoint: str, python_path: Iterable[str]) -> Code:
    """Import MODULE:FUNCTION, or raise an EntrypointError."""
    name, _, function = entrypoint.partition(":")
    if not name or not function:
        raise EntrypointError(f"The entrypoint {entrypoint!r} is not MODULE:FUNCTION, such as etl:process.")
    folders = [Path(folder).resolve() for folder in python_path]
    _put_first(folders)
    module = _imported(name, folders)
    process = _found(module, function)
    _judge(process, f"{function} in {_place(module)}")
    own = tuple(_own_modules(module, folders))
    return Code(process, (*folders, _folder_of(module)), own)


def unload(code: Code) -> None:
    """Forget the user's modules, so that the next `load` imports them anew."""
    for module in code.modules:
        sys.modules.pop(module.__name__, None)
    importlib.invalidate_caches()


def _put_first(folders: Iterable[Path]) -> None:
    for folder in reversed([str(folder) for folder in folders]):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def _imported(name: str, folders: list[Path]) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name is not None and (name == problem.name or name.startswith(f"{problem.name}.")):
            looked = ", ".join(map(str, folders)) or "Python's own path"
            raise EntrypointError(f"There is no module {problem.name!r} in {looked}: check the entrypoint.") from None
        raise EntrypointError(f"{_where(problem, name)}: {problem}. Install it beside the worker.") from problem
    except SyntaxError as problem:
        raise EntrypointError(f"{problem.filename}:{problem.lineno}: {problem.msg}.") from problem
    except (Exception, SystemExit) as problem:
        raise EntrypointError(
            f"{_where(problem, name)}: importing the module failed with {type(problem).__name__}: {problem}"
        ) from problem


def _where(problem: BaseException, name: str) -> str:
    """Return the line of the user's module where importing failed: the last that is not of a library."""
    own = [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if not frame.filename.startswith("<")
        and "site-packages" not in frame.filename
        and frame.filename != __file__
        and not Path(frame.filename).is_relative_to(Path(importlib.__file__).parent)
    ]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else name


def _found(module: ModuleType, function: str) -> Process:
    try:
        process = getattr(module, function)
    except AttributeError:
        defined = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        has = f"it has {', '.join(defined)}" if defined else "it has no function at all"
        raise EntrypointError(f"{_place(module)} has no {function!r}: {has}.") from None
    if not callable(process):
        raise EntrypointError(f"{function} in {_place(module)} is a {type(process).__name__}, not a function.")
    return process  # type: ignore[no-any-return]


def _judge(process: Process, named: str) -> None:
    line = _line(process)
    if inspect.iscoroutinefunction(process) or inspect.isasyncgenfunction(process):
        raise EntrypointError(f"{line}{named} is async: write `def`, as a batch has a thread of its own.")
    if inspect.isgeneratorfunction(process):
        raise EntrypointError(f"{line}{named} has a yield, and so would do nothing: write it without.")
    try:
        signature = inspect.signature(process)
    except ValueError:  # a function written in C tells nothing of itself
        return
    try:
        signature.bind(*ARGUMENTS)
    except TypeError:
        raise EntrypointError(f"{line}{named} has to take (df, batch), and takes {signature}.") from None


def _line(process: Process) -> str:
    code = getattr(inspect.unwrap(process), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


def _own_modules(module: ModuleType, folders: list[Path]) -> Iterator[ModuleType]:
    """Yield what is in the user's folders, or in the package of the entrypoint, which may be an installed one."""
    package = module.__name__.partition(".")[0]
    for name, each in list(sys.modules.items()):
        file = getattr(each, "__file__", None)
        is_ours = file is not None and is_in(Path(file).resolve(), folders)
        if is_ours or name == package or name.startswith(f"{package}."):
            yield each


def _folder_of(module: ModuleType) -> Path:
    return Path(module.__file__).resolve().parent if module.__file__ else Path.cwd()


def _place(module: ModuleType) -> str:
    return module.__file__ or module.__name__
