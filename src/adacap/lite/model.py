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
from adacap.lite.nets import NetGroup, sigmoid
from adacap.tables.columns import Floats

__all__ = ["LiteClassifier", "LiteRegressor", "load"]

_CHUNK = 1024  # rows of hidden features in memory at once
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class _LiteModel:
    """What regressor and classifier share."""

    def __init__(self, encoder: Encoder, groups: Sequence[NetGroup], n_out: int) -> None:
        self._encoder = encoder
        self._groups = tuple(groups)
        self._n_out = n_out
        self.n_features_in_ = len(encoder.columns)
        if encoder.names is not None:
            self.feature_names_in_ = np.array(encoder.names, dtype=object)

    def __repr__(self) -> str:
        n_nets = sum(len(group.weight) for group in self._groups)
        sizes = f"{self.n_features_in_} features, {n_nets} networks"
        return f"{type(self).__name__}({sizes})"

    def _outputs(self, X: Any) -> Floats:
        encoded = self._encoder.transform(X)
        if encoded.shape[1] == 0:  # every column was dropped: networks see one column of zeros
            encoded = np.zeros((len(encoded), 1), dtype=np.float32)
        out = np.zeros((len(encoded), self._n_out))
        for start in range(0, len(encoded), _CHUNK):
            rows = slice(start, start + _CHUNK)
            x = encoded[rows].astype(np.float64)
            for group in self._groups:
                out[rows] += group.total(x)
        return out / sum(len(group.weight) for group in self._groups)


class LiteRegressor(_LiteModel):
    """Fitted :class:`adacap.AdaCapRegressor` that can predict, and nothing else."""

    def __init__(
        self,
        encoder: Encoder,
        groups: Sequence[NetGroup],
        *,
        mean: Floats,
        scale: Floats,
        is_1d: bool,
    ) -> None:
        super().__init__(encoder, groups, len(mean))
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
        groups: Sequence[NetGroup],
        *,
        classes: npt.NDArray[Any],
        temperature: float,
    ) -> None:
        super().__init__(encoder, groups, 1 if len(classes) == 2 else len(classes))
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
            factory = model["groups"][0]["factory"]
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

    def groups(n_out: int) -> list[NetGroup]:
        found = []
        for g, group in enumerate(model["groups"]):
            prefix = f"groups.{g}."
            names = [name for name in tensors if name.startswith(prefix)]
            own = {name.removeprefix(prefix): tensors[name] for name in names}
            found.append(NetGroup.read(group["layers"], own, d_in=d_in, n_out=n_out))
        n_nets = sum(len(group.weight) for group in found)
        require(n_nets == len(model["members"]), f"it has {n_nets} nets, not one per member.")
        return found

    if model["estimator"].endswith("Classifier"):
        classes, temperature = _classes(codec)
        n_out = 1 if len(classes) == 2 else len(classes)
        return LiteClassifier(encoder, groups(n_out), classes=classes, temperature=temperature)
    mean, scale, is_1d = _targets(codec)
    return LiteRegressor(encoder, groups(len(mean)), mean=mean, scale=scale, is_1d=is_1d)


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
