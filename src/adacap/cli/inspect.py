"""``adacap inspect``: what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adacap.cli import options as option
from adacap.cli.common import command, note, print_json, print_table, say
from adacap.text import counted, number, size_of

if TYPE_CHECKING:
    from adacap.estimators.settings import Share
    from adacap.modelfile.archive import Json, Tensors
    from adacap.modelfile.contents import ModelFile
    from adacap.tables.plan import ColumnPlan

__all__ = ["inspect"]


@command
def inspect(
    model: option.Model,
    capacity: Annotated[
        bool, typer.Option(help="Also show the capacity readings; loads torch.")
    ] = True,
    key_file: option.KeyFile = None,
    as_json: option.AsJson = False,
) -> None:
    """Show what a model file holds: the model, its columns, λ, training, versions, sizes.

    With --no-capacity torch is not loaded.
    """
    from adacap.cli.loading import check_model, read_key
    from adacap.modelfile.contents import read_model

    check_model(model)
    file = read_model(model, read_key(key_file))
    facts = _facts(model, file)
    readings = _capacity(model) if capacity else None
    if as_json:
        print_json({**facts, "capacity": _readings(readings)})
        return
    _print(facts, str(file.settings), file.settings.read_from)
    if readings is not None:
        say()
        say(str(readings))


# --------------------------------------------------------------------------------- facts


def _facts(path: Path, file: ModelFile) -> dict[str, Any]:
    from adacap.modelfile.lite_intervals import promise

    model = file.description
    members = model["members"]
    lam, dof = _closed_form(file)
    nets = [group for group in model["groups"] if group["kind"] == "nets"]
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "estimator": model["estimator"],
        "task": "classification" if "classes" in model["codec"] else "regression",
        "adacap_version": model["adacap_version"],
        "format_version": model["format_version"],
        "provenance": model["provenance"],
        "target": {"names": model["provenance"]["targets"], **_target(model["codec"])},
        "scheme": model["scheme"],
        "blend": [_share(share) for share in file.settings.blend],
        "untrained": file.settings.untrained_text,
        "backbone": [{k: v for k, v in g.items() if k != "layers"} for g in nets],
        "n_networks": len(members),
        "n_parameters": _count_parameters(file.tensors),
        "lambda": lam,
        "effective_dof": dof,
        "read_from": None if (share := file.settings.read_from) is None else _share(share),
        "training": [_training(member) for member in members],
        "intervals": promise(file, 0.9),
        "preprocessing": model["encoder"]["policy"],
        "columns": [_column(plan) for plan in file.encoder.columns],
        "parameters": model["parameters"],
        "split": file.settings.split_text,
        "settings": model["settings"],
    }


def _closed_form(file: ModelFile) -> tuple[float | None, float | None]:
    """λ and effective degrees of freedom; for a blend, as measured in training."""
    if file.readings is not None:
        return file.readings.lambda_, file.readings.effective_dof
    members = file.description["members"]
    lams = [member["lam"] for member in members if member["lam"] is not None]
    dofs = [m["effective_dof"] for m in members if m["effective_dof"] is not None]
    return _geometric_mean(lams), sum(dofs) / len(dofs) if dofs else None


def _share(share: Share) -> dict[str, Any]:
    """A member of a blend, those of weight 0 included, which the file does not hold."""
    kind, _, encoding = share.name.partition(":")
    return {"name": share.name, "kind": kind, "encoding": encoding or None} | {
        key: getattr(share, key) for key in ("weight", "error", "seconds")
    }


def _target(codec: Json) -> dict[str, Any]:
    if "classes" in codec:
        return {"classes": codec["classes"]}
    return {"mean": codec["mean"], "standard_deviation": [abs(scale) for scale in codec["scale"]]}


def _count_parameters(tensors: Tensors) -> int:
    """Numbers that predictions use: of backbones, output layers, other members and encodings."""
    used = (".backbone.", ".output.", ".predictor.", ".encoding.")
    return sum(array.size for name, array in tensors.items() if any(u in name for u in used))


def _geometric_mean(values: list[float]) -> float | None:
    import math

    if not values:
        return None
    return math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0


def _training(member: Json) -> dict[str, Any]:
    """History of one net, in a few numbers."""
    history = member["history"]
    last = history[-1] if history else {}
    return {
        "lambda": member["lam"],
        "effective_dof": member["effective_dof"],
        "iterations": len(history),
        "best_iteration": member["best_iter"],
        "best_score": member["best_score"],
        "first_loss": history[0].get("loss") if history else None,
        "last_loss": last.get("loss"),
        "last_score": last.get("valid_score"),
    }


def _column(plan: ColumnPlan) -> dict[str, Any]:
    from adacap.tables.telling import tell_column

    return {
        "column": plan.name,
        "kind": plan.kind,
        "treatment": plan.treatment,
        "outputs": len(plan.outputs),
        **tell_column(plan).facts(),
    }


def _capacity(path: Path) -> Any:
    """Readings of the model's capacity, or None where it cannot be loaded."""
    from adacap.cli.loading import load_model

    try:
        return load_model(path).capacity()
    except (ImportError, ValueError) as error:
        note(f"No capacity readings: {error}")
        return None


def _readings(capacity: Any) -> dict[str, Any] | None:
    if capacity is None:
        return None
    names = (
        "lam", "lambda_per_row", "effective_dof", "dof_per_row", "fit_true", "fit_permuted",
        "memorisation_gap", "p_value", "press_r2", "holdout_p_value",
    )  # fmt: skip
    rows = [row._asdict() for row in capacity.most_influential(5)]
    found = {name: getattr(capacity, name) for name in names}
    return {**found, "most_influential": rows, "remarks": capacity.remarks()}


# ------------------------------------------------------------------------------ printing


def _print(facts: dict[str, Any], settings: str, source: Share | None) -> None:
    from adacap.estimators._capacity_text import source_of

    nets = "1 net" if facts["n_networks"] == 1 else f"{facts['n_networks']} nets"
    if facts["blend"]:
        n_members = sum(share["weight"] > 0 for share in facts["blend"])
        members = f"blend of {n_members} member{'s' * (n_members > 1)}"
        nets = f"{members}, {nets if facts['n_networks'] else 'no nets'} among them"
    say(f"{facts['file']} ({size_of(facts['bytes'])}), written by adacap {facts['adacap_version']}")
    scheme = f", scheme {facts['scheme']}" if facts["n_networks"] else ""
    say(
        f"{facts['estimator']} ({facts['task']}), {nets}, {facts['n_parameters']:,} parameters"
        f"{scheme}{_backbone(facts['backbone'])}"
    )
    origin = facts["provenance"]
    say(
        f"Trained {origin['created']} on {counted(origin['n_rows'], 'row')} in "
        f"{origin['fit_seconds']:.1f} s; Python {origin['python']}, torch {origin['torch']}, "
        f"NumPy {origin['numpy']}, scikit-learn {origin['scikit_learn']}"
    )
    say(f"Target: {_target_text(facts['target'])}")
    say(f"Held out: {facts['split']}")
    if facts["lambda"] is not None:
        dof = number(facts["effective_dof"], 3)
        read = "" if source is None else f", read from {source_of(source)}"
        say(f"λ {number(facts['lambda'], 3)}, {dof} effective degrees of freedom{read}")
    if facts["intervals"] is not None:
        what = "Sets" if facts["task"] == "classification" else "Intervals"
        say(f"{what} of 90 % by {facts['intervals']}")
    say()
    _print_columns(facts)
    if facts["blend"]:
        say()
        _print_blend(facts["blend"], facts["task"])
        if facts["untrained"]:
            say(facts["untrained"])
    if facts["training"]:
        say()
        _print_training(facts["training"])
    say()
    say("Settings:")
    for line in settings.splitlines():
        say(f"  {line}")


def _backbone(groups: list[dict[str, Any]]) -> str:
    if not groups:
        return ""
    first = groups[0]
    if first["factory"]:
        return f", backbone by {first['factory']}"
    kinds = {(g["name"], g["width"], g["depth"], str(g["options"])) for g in groups}
    mixed = " and others" if len(kinds) > 1 else ""
    return f", backbone {first['name']} of width {first['width']}, depth {first['depth']}{mixed}"


def _target_text(target: dict[str, Any]) -> str:
    names = target["names"]
    if "classes" in target:
        shown = ", ".join(str(label) for label in target["classes"][:10])
        more = ", …" if len(target["classes"]) > 10 else ""
        return f"{' '.join(names)} {len(target['classes'])} classes: {shown}{more}".lstrip()
    pairs = list(zip(target["mean"], target["standard_deviation"], strict=True))
    names = names if len(names) == len(pairs) else [""] * len(pairs)
    texts = [f"mean {number(m)}, standard deviation {number(s)}" for m, s in pairs]
    return "; ".join(f"{n} ({t})" if n else t for n, t in zip(names, texts, strict=True))


def _print_columns(facts: dict[str, Any]) -> None:
    n_out = sum(column["outputs"] for column in facts["columns"])
    policy = facts["preprocessing"]
    become = "becomes" if len(facts["columns"]) == 1 else "become"
    columns, inputs = counted(len(facts["columns"]), "column"), counted(n_out, "input")
    say(f"{columns} {become} {inputs} (preprocessing {policy!r}):")
    rows = [
        [f"  {c['column']}", c["kind"], c["treatment"], _reading(c), str(c["outputs"])]
        for c in facts["columns"]
    ]
    print_table(["  column", "kind", "treatment", "read from text", "inputs"], rows, n_text=4)


def _reading(column: dict[str, Any]) -> str:
    is_read = column["read_as"] in ("number", "date", "text") or column["bad_cells"]
    return f"{column['read_as']} {column['note']}" if is_read else ""


def _print_blend(blend: list[dict[str, Any]], task: str) -> None:
    rows = [
        [
            f"  {share['kind']}",
            share["encoding"] or "",
            f"{share['weight']:.3f}" if share["weight"] else "left out",
            number(share["error"]),
            number(share["seconds"], 2),
        ]
        for share in blend
    ]
    unit = "log-loss" if task == "classification" else "in standard deviations of the target"
    say(f"Members, by weight; out-of-fold errors {unit}:")
    print_table(["  member", "encoding", "weight", "error", "seconds"], rows, n_text=2)


def _print_training(training: list[dict[str, Any]]) -> None:
    rows = [
        [
            f"  {k + 1}",
            str(one["iterations"]),
            str(one["best_iteration"]),
            number(one["best_score"]),
            number(one["last_loss"]),
            number(one["lambda"], 3),
            number(one["effective_dof"], 3),
        ]
        for k, one in enumerate(training)
    ]
    say("Training:")
    columns = ["iterations", "best", "best score", "last loss", "λ", "dof"]
    print_table(["  net", *columns], rows)
