"""The models: encode, run each member, average, decode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adacap.exceptions import ModelFileError
from adacap.lite.encoder import Encoder
from adacap.lite.files import Json, Tensors, read, refuse, refusing, require
from adacap.lite.nets import Layer, backbone, forward, linear, sigmoid
from adacap.tables.columns import Floats

__all__ = ["LiteClassifier", "LiteRegressor", "load"]

_CHUNK = 1024  # rows of hidden features in memory at once
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class _LiteModel:
    """What regressor and classifier share."""

    def __init__(self, encoder: Encoder, members: Sequence[tuple[Layer, ...]], n_out: int) -> None:
        self._encoder = encoder
        self._members = tuple(members)
        self._n_out = n_out
        self.n_features_in_ = len(encoder.columns)
        if encoder.names is not None:
            self.feature_names_in_ = np.array(encoder.names, dtype=object)

    def __repr__(self) -> str:
        sizes = f"{self.n_features_in_} features, {len(self._members)} networks"
        return f"{type(self).__name__}({sizes})"

    def _outputs(self, X: Any) -> Floats:
        encoded = self._encoder.transform(X)
        if encoded.shape[1] == 0:  # every column was dropped: networks see one column of zeros
            encoded = np.zeros((len(encoded), 1), dtype=np.float32)
        out = np.zeros((len(encoded), self._n_out))
        for start in range(0, len(encoded), _CHUNK):
            rows = slice(start, start + _CHUNK)
            x = encoded[rows].astype(np.float64)
            for layers in self._members:
                out[rows] += forward(layers, x)
        return out / len(self._members)


class LiteRegressor(_LiteModel):
    """Fitted :class:`adacap.AdaCapRegressor` that can predict, and nothing else."""

    def __init__(
        self,
        encoder: Encoder,
        members: Sequence[tuple[Layer, ...]],
        *,
        mean: Floats,
        scale: Floats,
        is_1d: bool,
    ) -> None:
        super().__init__(encoder, members, len(mean))
        self._mean, self._scale, self._is_1d = mean, scale, is_1d

    def predict(self, X: Any) -> Floats:
        """Predict the target.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)
            Columns are matched by name where ``fit`` saw names.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        values: Floats = self._outputs(X) * self._scale + self._mean
        return values[:, 0] if self._is_1d else values


class LiteClassifier(_LiteModel):
    """Fitted :class:`adacap.AdaCapClassifier` that can predict, and nothing else.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    temperature_ : float
        What outputs are divided by before they become probabilities.
    """

    def __init__(
        self,
        encoder: Encoder,
        members: Sequence[tuple[Layer, ...]],
        *,
        classes: npt.NDArray[Any],
        temperature: float,
    ) -> None:
        super().__init__(encoder, members, 1 if len(classes) == 2 else len(classes))
        self.classes_ = classes
        self.temperature_ = temperature

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        output = self._outputs(X) / self.temperature_
        if len(self.classes_) == 2:
            positive = sigmoid(output[:, 0])
            return np.column_stack([1 - positive, positive])
        shifted = np.exp(output - output.max(1, keepdims=True))
        return np.asarray(shifted / shifted.sum(1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like, frame or mapping of columns, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        labels: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


# ------------------------------------------------------------------------------- loading


def load(path: str | os.PathLike[str]) -> LiteRegressor | LiteClassifier:
    """Read a model that ``save`` wrote, to predict without torch.

    Predictions are those of the saved estimator up to the rounding of its float32 arithmetic;
    here the networks are computed in float64.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    LiteRegressor or LiteClassifier

    Raises
    ------
    ModelFileError
        If the file is malformed, or holds something that this version does not know.
    ValueError
        If the backbone is the user's own, which only torch can run.

    Examples
    --------
    >>> import tempfile
    >>> from adacap import AdaCapRegressor
    >>> model = AdaCapRegressor(width=4, max_iter=2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.adacap")
    ...     light = load(f"{folder}/m.adacap")
    >>> light
    LiteRegressor(1 features, 1 networks)
    >>> bool(abs(light.predict([[3.0]])[0] - model.predict([[3.0]])[0]) < 1e-6)
    True
    """
    try:
        model, tensors = read(path)
        with refusing("its description is malformed", *_MALFORMED):
            factory = _specs(model)[0]["factory"]
            if factory is None:
                return _restore(model, tensors)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {os.fspath(path)!r}: {error}") from error.__cause__
    raise ValueError(
        f"The model was trained with a backbone of the user's own, built by {factory!r}, which "
        "adacap.lite cannot run: it needs torch. Use adacap.load(path, architecture="
        f"{str(factory).split('.')[-1]}), or export the model with adacap.export.to_onnx."
    )


def _restore(model: Json, tensors: Tensors) -> LiteRegressor | LiteClassifier:
    encoder, codec = Encoder(model["encoder"], model["estimator"]), model["codec"]
    d_in = max(1, encoder.n_features_out)

    def members(n_out: int) -> list[tuple[Layer, ...]]:
        return [
            _network(spec, tensors, f"members.{k}.", d_in=d_in, n_out=n_out)
            for k, spec in enumerate(_specs(model))
        ]

    if model["estimator"].endswith("Classifier"):
        classes, temperature = _classes(codec)
        n_out = 1 if len(classes) == 2 else len(classes)
        return LiteClassifier(encoder, members(n_out), classes=classes, temperature=temperature)
    mean, scale, is_1d = _targets(codec)
    return LiteRegressor(encoder, members(len(mean)), mean=mean, scale=scale, is_1d=is_1d)


def _specs(model: Json) -> list[Json]:
    """Backbone of each member; the file has one for all, or one for each of a mixed bag."""
    stored, n_members = model["backbone"], len(model["members"])
    require(n_members > 0, "it has no members.")
    specs = stored if isinstance(stored, list) else [stored] * n_members
    require(len(specs) == n_members, f"it has {len(specs)} backbones, {n_members} members.")
    return specs


def _network(
    spec: Json, tensors: Tensors, prefix: str, *, d_in: int, n_out: int
) -> tuple[Layer, ...]:
    """Layers of one member, held against the features that were saved for a row of zeros."""
    own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    inside = "backbone."
    arrays = {name.removeprefix(inside): t for name, t in own.items() if name.startswith(inside)}
    layers = backbone(spec, arrays)
    output = linear(own, "linear.")
    require(len(output.bias) == n_out, f"a network has {len(output.bias)} outputs, not {n_out}.")
    hidden = forward(layers, np.zeros((1, d_in)))[0]
    probe = own["probe"].astype(np.float64)
    fits = hidden.shape == probe.shape == output.weight.shape[:1]
    close = fits and np.allclose(hidden, probe, 1e-3, 1e-3 * float(np.abs(probe).max()))
    require(close, "the network computes other features than the saved one did.")
    return (*layers, output)


def _targets(codec: Json) -> tuple[Floats, Floats, bool]:
    """Mean and scale of each target, and whether there is one, as a vector."""
    _check_keys(codec, {"mean", "scale", "is_1d"})
    mean, scale = (np.array(codec[name], dtype=np.float64) for name in ("mean", "scale"))
    is_1d = codec["is_1d"]
    fits = mean.shape == scale.shape == (len(mean),) and bool(np.isfinite([mean, scale]).all())
    fits = fits and isinstance(is_1d, bool) and (len(mean) == 1 or not is_1d)
    require(fits, "codec contradicts itself.")
    return mean, scale, is_1d


def _check_keys(codec: Json, known: set[str]) -> None:
    """Refuse what a later version may do to outputs, rather than to leave it out."""
    require(set(codec) == known, f"codec holds {sorted(codec)}, not {sorted(known)}.")


def _classes(codec: Json) -> tuple[npt.NDArray[Any], float]:
    """Labels in order, and the temperature."""
    _check_keys(codec, {"dtype", "classes", "temperature"})
    labels, dtype, temperature = codec["classes"], codec["dtype"], codec["temperature"]
    if dtype not in ("str", "object") and np.dtype(dtype).kind not in "biuf":
        refuse(f"codec has labels of {dtype!r}.")
    classes = np.array(labels, dtype=dtype)
    require(len(classes) >= 2 and classes.tolist() == labels, f"codec.classes are not of {dtype}.")
    is_number = isinstance(temperature, int | float) and 0 < temperature < np.inf
    require(is_number, f"codec has the temperature {temperature!r:.20}.")
    return classes, float(temperature)
