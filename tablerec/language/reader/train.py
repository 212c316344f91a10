"""The training: ``python -m tablerec.language.reader.train --output FOLDER``.

Processes draw tables, a thread packs them, the device trains. What stands in FOLDER afterwards: ``curve.jsonl``, two
checkpoints, with which the same command goes on, and the weights as ``reader-1-of-N.safetensors``.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from tablerec.errors import SettingsError, TablerecError, TrainingError
from tablerec.language.reader.batches import Batches, levels_of, shape_of
from tablerec.language.reader.config import SIZES, Settings
from tablerec.language.reader.data import LEVELS, Drawing, Example
from tablerec.language.reader.packing import IGNORED, Batch, pack
from tablerec.language.reader.vocabulary import BYTES, X_PLACES

if TYPE_CHECKING:
    from tablerec.language.reader.network import Reader

VALIDATION_SEED = 1_000_003


def rate_at(progress: float, step: int, settings: Settings) -> float:
    """Return the learning rate: rising, level, then falling to 0.

    >>> chosen = Settings(Path("."), learning_rate=1.0, warmup=10, fall=0.5)
    >>> rate_at(0.0, 4, chosen), rate_at(0.4, 99, chosen), rate_at(0.75, 99, chosen), rate_at(1.0, 99, chosen)
    (0.5, 1.0, 0.5, 0.0)
    """
    rise = min(1.0, (step + 1) / max(1, settings.warmup))
    return settings.learning_rate * rise * min(1.0, max(0.0, 1 - progress) / max(settings.fall, 1e-9))


class Run:
    """A training, from its start or a checkpoint.

    Args:
        settings: See ``Settings``.
        device: For Paddle.
        report: Called with each line for the user.
    """

    def __init__(self, settings: Settings, device: str, report: Callable[[str], None]) -> None:
        import paddle

        from tablerec.language.reader import network

        self.settings, self._report = settings, report
        self.begun = time.monotonic()
        paddle.set_device(device)
        paddle.seed(settings.seed)
        levels = levels_of(settings)
        longest = max(level.tokens for level in levels) + 1
        config = replace(SIZES[settings.size], max_tokens=longest, places=settings.places)
        self.net = network.Reader(config)
        if settings.precision != "float32":
            self.net.to(dtype=settings.precision)
        self.parameters = dict(self.net.named_parameters())
        decays = {each.name for each in self.parameters.values() if each.ndim > 1}
        self.optimizer = paddle.optimizer.AdamW(
            settings.learning_rate, 0.9, 0.95,
            parameters=list(self.parameters.values()),
            weight_decay=settings.weight_decay,
            apply_decay_param_fun=decays.__contains__,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0),
            multi_precision=settings.precision != "float32",
        )  # fmt: skip
        self.step, self.seconds, self.n_seen = 0, 0.0, 0
        first = self._resume()
        settings.output.mkdir(parents=True, exist_ok=True)
        self._flash: dict[tuple[int, ...], bool] = {}  # by shape of a batch
        report(
            f"{network.count_parameters(self.net) / 1e6:.2f} M parameters in {settings.precision} on {device}, from "
            f"step {self.step}, sample {first}"
        )
        self.batches = Batches(settings, first)
        self.validation = [unseen(settings, number) for number in range(len(levels) if settings.validate_every else 0)]

    def go(self, should_stop: Callable[[], bool]) -> None:
        """Train until the time is over."""
        s = self.settings
        earlier, begun = self.seconds, time.monotonic()
        validated = saved = begun
        meter = _Meter(self)
        while self.progress < 1 and not should_stop() and not self._is_over():
            now = time.monotonic()
            batch = self.batches.take()
            waited = time.monotonic() - now
            loss = self._train(batch)
            self.seconds = earlier + time.monotonic() - begun
            meter.add(loss, batch, waited)
            if self.step % s.log_every == 0:
                meter.report()
            now = time.monotonic()
            if s.validate_every and now - validated > s.validate_every:
                self.validate()
                validated = time.monotonic()
            if now - saved > s.save_every:
                self.save()
                saved = time.monotonic()
        meter.report()
        if s.validate_every:
            self.validate()
        self.save()

    @property
    def progress(self) -> float:
        """Share of the training that is done, 0 to 1."""
        return min(1.0, self.seconds / (60 * self.settings.minutes))

    def _is_over(self) -> bool:
        limit = self.settings.stop_after
        return limit is not None and time.monotonic() - self.begun > limit

    def _train(self, batch: Batch) -> Any:
        import paddle

        self.net.train()
        self.optimizer.set_lr(rate_at(self.progress, self.step, self.settings))
        losses = self.net.loss(batch, self._has_flash(batch))
        losses.total.backward()
        self.optimizer.step()
        self.optimizer.clear_grad(set_to_zero=False)  # a launch less for each weight
        self.step += 1
        self.n_seen += batch.n_examples
        return paddle.stack([losses.written.detach(), losses.seen.detach()])

    def _has_flash(self, batch: Batch) -> bool:
        shape = batch.inputs.shape
        if shape not in self._flash:
            self._flash[shape] = choose_attention(self.net, batch, self.settings, self._report)
        return self._flash[shape]

    def note(self, text: str, **values: Any) -> None:
        """Report a line, and keep its values in the curve."""
        self._report(text)
        with (self.settings.output / "curve.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": self.step, "seconds": round(self.seconds, 1), **values}) + "\n")

    def validate(self) -> None:
        """Score tables that are in no training: the next token, and whole tables, by level."""
        import paddle

        from tablerec.language.reader.generate import read_grey

        self.net.eval()
        levels = levels_of(self.settings)
        for number, examples in enumerate(self.validation[: self.batches.level + 1]):
            begun = time.monotonic()
            taken = iter(examples)
            shape = shape_of(levels, number, int(4 / levels[number].share) * shape_of(levels, number, 1).tokens)
            batch = pack(lambda taken=taken: next(taken, None), shape)  # type: ignore[misc]
            with paddle.no_grad():
                losses = self.net.loss(batch)
            loss = float(losses.written)
            shares = _right(losses.scores.argmax(-1).numpy(), batch.labels)
            some = examples[:8]
            most = max(len(example.tokens) for example in some) + 16
            readings = read_grey(self.net, [example.grey for example in some], most)
            whole = [_compare(reading.tokens, example.tokens) for reading, example in zip(readings, some, strict=True)]
            structure, exact = (sum(each) / len(some) for each in zip(*whole, strict=True))
            self.note(
                f"step {self.step} validation of level {number}: loss {loss:.3f}, next token right "
                + ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
                + f"; whole tables: grid {structure:.2f}, all {exact:.2f}, {time.monotonic() - begun:.1f} s",
                level=number, validation_loss=loss, next_token=shares, grid=structure, exact=exact,
            )  # fmt: skip

    def save(self) -> None:
        """Write a checkpoint and the weights."""
        from tablerec.language.reader.network import save_reader
        from tablerec.training.checkpoint import save_checkpoint
        from tablerec.training.methods.optimizer import optimizer_arrays

        begun = time.monotonic()
        arrays = self._masters()
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise TrainingError(
                f"the weights are not finite at step {self.step}: lower --learning-rate and go on from the last "
                f"checkpoint in {self.settings.output}"
            )
        state = {
            "seconds": self.seconds, "n_seen": self.n_seen, "next_index": self.batches.next_index,
            "config": asdict(self.net.config),
        }  # fmt: skip
        moments = optimizer_arrays(self.optimizer, self.parameters) if self.step else {}
        save_checkpoint(self.settings.output, self.step, {"network": arrays, **moments}, state)
        save_reader(self.settings.output, self.net, arrays, step=str(self.step))
        self._report(f"step {self.step} saved in {time.monotonic() - begun:.1f} s")

    def _masters(self) -> dict[str, NDArray[Any]]:
        masters = self.optimizer.state_dict().get("master_weights", {})
        return {name: masters.get(each.name, each).astype("float32").numpy() for name, each in self.parameters.items()}

    def _resume(self) -> int:
        """Load the newest checkpoint, if there is one; return the index of the next sample."""
        import paddle

        from tablerec.training.checkpoint import load_newest
        from tablerec.training.methods.optimizer import load_optimizer

        found = load_newest(self.settings.output, self._report)
        if found is None:
            return 0
        path, groups, state = found
        config = json.loads(json.dumps(asdict(self.net.config)))
        if state["config"] != config:
            raise SettingsError(f"{path} is of a network of another size: choose another --output to begin anew")
        weights = groups["network"]
        for name, each in self.parameters.items():
            each.set_value(paddle.to_tensor(weights[name]).astype(each.dtype))
        load_optimizer(self.optimizer, self.parameters, groups)
        if self.settings.precision != "float32":
            masters = {each.name: paddle.to_tensor(weights[name]) for name, each in self.parameters.items()}
            self.optimizer.set_state_dict({**self.optimizer.state_dict(), "master_weights": masters})
        self.step, self.seconds, self.n_seen = state["step"], state["seconds"], state["n_seen"]
        return int(state["next_index"])

    def close(self) -> None:
        """End what draws."""
        self.batches.close()


class _Meter:
    """Speed and loss between two reports; the device is waited for only then."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._clear()

    def _clear(self) -> None:
        self.begun, self.waited, self.losses = time.monotonic(), 0.0, list[Any]()
        self.examples = self.tokens = self.places = 0

    def add(self, loss: Any, batch: Batch, waited: float) -> None:
        self.losses.append(loss)
        self.waited += waited
        self.examples += batch.n_examples
        self.tokens += int((batch.labels != IGNORED).sum())
        self.places += int((batch.owners > 0).sum())

    def report(self) -> None:
        if not self.losses:
            return
        run, count = self._run, len(self.losses)
        loss, seen = np.mean([each.numpy() for each in self.losses], 0).tolist()
        seconds = time.monotonic() - self.begun
        if not np.isfinite(loss):
            raise TrainingError(
                f"the loss is not finite at step {run.step}: lower --learning-rate and go on from the last checkpoint "
                f"in {run.settings.output}"
            )
        uses = run.n_seen / max(1, run.batches.next_index)
        run.note(
            f"step {run.step} loss {loss:.4f} patches {seen:.4f} level {run.batches.level} "
            f"{self.examples / seconds:.0f} pictures/s "
            f"{self.tokens / seconds:.0f} tokens/s {self.places / seconds:.0f} places/s {1000 * seconds / count:.0f} "
            f"ms a step, of them waiting {1000 * self.waited / count:.0f}; drawn {run.batches.next_index}, used "
            f"{uses:.1f} times; left {run.settings.minutes - run.seconds / 60:.1f} min",
            loss=loss, patches=seen, level=run.batches.level, pictures_per_second=self.examples / seconds,
            tokens_per_second=self.tokens / seconds, drawn=run.batches.next_index, uses=uses,
            seconds_per_step=seconds / count, waiting=self.waited / count,
        )  # fmt: skip
        self._clear()


def _right(chosen: NDArray[np.int64], labels: NDArray[np.int64]) -> dict[str, float]:
    """Share of tokens that are right where all before them are given, by kind."""
    kinds = {
        "grid": (labels >= 0) & (labels < BYTES),
        "place": labels >= X_PLACES,
        "text": (labels >= BYTES) & (labels < X_PLACES),
    }
    return {name: float((chosen == labels)[at].mean()) if at.any() else 1.0 for name, at in kinds.items()}


def _compare(tokens: NDArray[np.int64], true: NDArray[Any]) -> tuple[bool, bool]:
    """Whether the grid is right, and whether all but the places is; ``true`` begins with ``BEGIN``."""
    wanted = true[1:].astype(np.int64)
    grids = [each[each < BYTES] for each in (tokens, wanted)]
    texts = [each[each < X_PLACES] for each in (tokens, wanted)]
    return np.array_equal(grids[0], grids[1]), np.array_equal(texts[0], texts[1])


def unseen(settings: Settings, number: int, count: int = 16) -> list[Example]:
    """Draw tables of a level that are in no training."""
    load = Drawing(levels_of(settings), VALIDATION_SEED, settings.scripts, settings.places, number).load("")
    return [load(index) for index in range(count)]


def choose_attention(net: Reader, batch: Batch, settings: Settings, report: Callable[[str], None]) -> bool:
    """Tell whether flash attention is used for batches of this shape: where the device has it, and is faster with it.

    Args:
        net: The network.
        batch: Some batch.
        settings: Of which ``attention`` and ``precision`` count.
        report: Told how long both take.

    Raises:
        SettingsError: The device lacks what was asked for.
    """
    if settings.attention == "plain" or settings.precision == "float32":
        return False
    from tablerec.language.reader.network import seconds_of_attention

    try:
        flash = seconds_of_attention(net, batch, flash=True)
    except (RuntimeError, SystemError, OSError) as error:
        if settings.attention == "flash":
            raise SettingsError(f"attention flash: the device does not have it ({error}); choose plain") from error
        report("the device has no flash attention of unlike lengths: products and a softmax do it")
        return False
    plain = seconds_of_attention(net, batch, flash=False)
    report(
        f"attention of a decoder's block, {batch.inputs.shape[0]} x {batch.inputs.shape[1]} places, with its gradient: "
        f"flash {1000 * flash:.1f} ms, products and a softmax {1000 * plain:.1f} ms"
    )
    return settings.attention == "flash" or flash < plain


@contextmanager
def _stoppable() -> Iterator[Callable[[], bool]]:
    """Let SIGINT and SIGTERM end the training after a step."""
    wanted = threading.Event()
    earlier = {each: signal.signal(each, lambda *_: wanted.set()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield wanted.is_set
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def train(settings: Settings, device: str = "cpu", report: Callable[[str], None] = click.echo) -> None:
    """Train, or go on.

    Args:
        settings: See ``Settings``.
        device: For Paddle.
        report: Called with each line for the user.

    Raises:
        TrainingError: The loss or the weights are not finite, or nothing can be drawn.
        SettingsError: The checkpoint is of another network, or the device lacks what was asked for.
    """
    run = Run(settings, device, report)
    try:
        with _stoppable() as should_stop:
            run.go(should_stop)
    finally:
        run.close()


@click.command(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Folder of the run; it is gone on with.")
@click.option("--levels", type=click.Choice(list(LEVELS)), default="tables", help="What is drawn.")
@click.option("--pace", type=float, default=1.0, help="Samples of each level, as a multiple of the usual.")
@click.option("--size", type=click.Choice(list(SIZES)), default="full", help="Of the network.")
@click.option("--device", default="cpu", help="cpu, or tablerec_gpu with --plugin.")
@click.option("--plugin", type=click.Path(path_type=Path), help="The library of `tablerec device build`.")
@click.option("--minutes", type=float, default=20.0, help="Of the whole training.")
@click.option("--stop-after", type=float, help="Seconds after which this call saves and ends.")
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), default="float32")
@click.option("--attention", type=click.Choice(["auto", "flash", "plain"]), default="auto")
@click.option("--budget", type=int, default=65536, help="Tokens and patches in a batch.")
@click.option("--learning-rate", type=float, default=1e-3)
@click.option("--warmup", type=int, default=300, help="Steps.")
@click.option("--seed", type=int, default=0)
@click.option("--places/--no-places", default=True, help="Write where each text begins.")
@click.option("--workers", type=int, default=0, help="Processes that draw.")
@click.option("--buffer", type=int, default=20_000, help="Examples that are kept.")
@click.option("--min-buffer", type=int, default=1_000, help="Examples before the first step.")
@click.option("--uses", type=float, default=1.0, help="Of an example; more where workers are slow.")
@click.option("--log-every", type=int, default=50, help="Steps.")
@click.option("--validate-every", type=float, default=120.0, help="Seconds; 0: never.")
@click.option("--save-every", type=float, default=120.0, help="Seconds.")
def main(device: str, plugin: Path | None, **options: Any) -> None:
    """Train the reader that writes tokens."""
    try:
        if plugin is not None:
            from tablerec.devices.plugin import load_plugin

            load_plugin(plugin)
        train(Settings(**options), device)
    except TablerecError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
