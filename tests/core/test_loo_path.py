"""Leave-one-out residuals at many λ are those of fits without each row."""

import pytest
import torch

from adacap.core.loo_path import loo_path
from adacap.core.ridge import Ridge


@pytest.mark.parametrize("shape", [(12, 3), (6, 9)], ids=["tall", "wide"])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_row_is_predicted_by_the_fit_without_it(shape, weighted):
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, generator=draw, dtype=torch.float64)
    y = torch.randn(shape[0], 2, generator=draw, dtype=torch.float64)
    w = torch.rand(shape[0], generator=draw, dtype=torch.float64) + 0.5 if weighted else None
    lams = torch.tensor([0.1, 1.0, 30.0], dtype=torch.float64)
    found = loo_path(Ridge(x, 1.0, sample_weight=w, fit_intercept=True), y, lams)
    for lam, residuals in zip(lams, found, strict=True):
        for i in range(len(x)):
            rest = torch.arange(len(x)) != i
            own = Ridge(
                x[rest], lam, sample_weight=None if w is None else w[rest], fit_intercept=True
            ).solve(y[rest])
            expected = y[i] - x[i] @ own.coef - own.intercept
            root = 1.0 if w is None else w[i].sqrt()
            torch.testing.assert_close(residuals[i], root * expected)
