"""Numbers of the supplement's studies: test R² and the start of λ by data set and setting."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ABLATION",
    "BATCH",
    "DEPTH",
    "DITHER",
    "LAMBDA",
    "LAMBDA_INIT",
    "PERMUTATIONS",
    "STRUCTURED",
    "WIDTH",
]

# Keys of the catalogue: Concrete Slump −3, QSAR aquatic toxicity, Seoul Bike.
SLUMP, QSAR, BIKE = "mlr-regression0", "mlr-regression1", "mlr-regression8"
# Only in the study of batches; of its 43824 rows those without a target are left out here.
BEIJING = "paper-42"

STRUCTURED = {
    SLUMP: {0.0: 0.321, 0.2: 0.338, 1.0: 0.357, 2.0: 0.089, 3.0: 0.068},
    QSAR: {0.0: 0.463, 0.2: 0.463, 1.0: 0.460, 2.0: 0.220, 3.0: 0.216},
    BIKE: {0.0: 0.863, 0.2: 0.863, 1.0: 0.855, 2.0: 0.364, 3.0: 0.364},
}
PERMUTATIONS = {
    SLUMP: {0: 0.252, 1: 0.331, 2: 0.338, 4: 0.343, 16: 0.347, 256: 0.351, 1024: 0.349},
    QSAR: {0: 0.460, 1: 0.461, 2: 0.466, 4: 0.469, 16: 0.473, 256: 0.477, 1024: 0.480},
    BIKE: {0: 0.817, 1: 0.813, 2: 0.813, 4: 0.813, 16: 0.814, 256: 0.813, 1024: 0.814},
}
# A start of 0 is the plain net.
LAMBDA = {
    SLUMP: {
        0.0: -0.110, 1e-3: -0.444, 1e-1: 0.097, 10.0: 0.320, 1e3: 0.359, 1e5: 0.334, 1e7: 0.263,
        1e9: -0.050,
    },
    QSAR: {
        0.0: -0.276, 1e-3: -33.053, 1e-1: -3.768, 10.0: 0.422, 1e3: 0.477, 1e5: 0.486, 1e7: 0.477,
        1e9: 0.273,
    },
    BIKE: {
        0.0: -0.091, 1e-3: 0.761, 1e-1: 0.795, 10.0: 0.844, 1e3: 0.843, 1e5: 0.774, 1e7: 0.711,
        1e9: 0.614,
    },
}  # fmt: skip
LAMBDA_BY_RULE = {SLUMP: 0.347, QSAR: 0.473, BIKE: 0.814}
DITHER = {
    SLUMP: {0.0: 0.347, 0.01: 0.351, 0.03: 0.347, 0.1: 0.354, 0.3: 0.353},
    QSAR: {0.0: 0.475, 0.01: 0.474, 0.03: 0.473, 0.1: 0.474, 0.3: 0.474},
    BIKE: {0.0: 0.813, 0.01: 0.814, 0.03: 0.814, 0.1: 0.813, 0.3: 0.812},
}
WIDTH = {
    SLUMP: {16: 0.184, 64: 0.276, 256: 0.325, 1024: 0.344, 4096: 0.322},
    QSAR: {16: 0.367, 64: 0.442, 256: 0.467, 1024: 0.470, 4096: 0.460},
    BIKE: {16: 0.622, 64: 0.714, 256: 0.773, 1024: 0.825, 4096: 0.856},
}
# The largest key stands for min(n, 2^14), the whole training part.
WHOLE = 2**14
BATCH = {
    SLUMP: {1: -0.122, 16: 0.334, 32: 0.349, 64: 0.393, WHOLE: 0.401},
    QSAR: {1: -0.014, 16: 0.415, 32: 0.459, 64: 0.474, 128: 0.477, 256: 0.478, WHOLE: 0.475},
    BIKE: {
        1: 0.013, 16: 0.640, 32: 0.673, 64: 0.703, 128: 0.729, 256: 0.750, 512: 0.763,
        1024: 0.785, 2048: 0.790, 4096: 0.813, WHOLE: 0.824,
    },
    BEIJING: {
        1: -0.003, 16: 0.019, 32: 0.050, 64: 0.109, 128: 0.148, 256: 0.188, 512: 0.209,
        1024: 0.231, 2048: 0.254, 4096: 0.278, 8192: 0.298, WHOLE: 0.316,
    },
}  # fmt: skip
# The start of λ that the tables print beside R², by the rule.
_USUAL = {QSAR: 774.264, BIKE: 10000.001}
LAMBDA_INIT: dict[str, dict[str, dict[Any, float]]] = {
    "σ": {
        SLUMP: dict.fromkeys(STRUCTURED[SLUMP], 219.345),
        **{task: dict.fromkeys(STRUCTURED[task], lam) for task, lam in _USUAL.items()},
    },
    "T": {
        SLUMP: {
            0: 31.831, 1: 285.238, 2: 215.370, 4: 219.345, 16: 216.235, 256: 219.345,
            1024: 219.345,
        },
        **{task: dict.fromkeys(PERMUTATIONS[task], lam) for task, lam in _USUAL.items()},
    },
    "λ_init": {SLUMP: {"rule": 216.235}, QSAR: {"rule": 774.263}, BIKE: {"rule": 1e4}},
    "σ̃": {
        SLUMP: {0.0: 220.900, 0.01: 220.900, 0.03: 216.235, 0.1: 215.104, 0.3: 216.367},
        **{task: dict.fromkeys(DITHER[task], lam) for task, lam in _USUAL.items()},
    },
    "J": {
        SLUMP: {16: 210.307, 64: 211.555, 256: 205.351, 1024: 222.455, 4096: 220.900},
        QSAR: {16: 678.097, 64: 628.464, 256: 774.264, 1024: 774.264, 4096: 774.264},
        BIKE: {16: 9350.431, 64: 9927.827, 256: 10000.001, 1024: 10000.001, 4096: 10000.001},
    },
    "batch": {
        SLUMP: {1: 38.452, 16: 82.567, 32: 110.214, 64: 246.869, WHOLE: 237.899},
        QSAR: {
            1: 290.923, 16: 158.198, 32: 204.647, 64: 253.497, 128: 388.678, 256: 774.264,
            WHOLE: 774.264,
        },
        BIKE: {
            1: 89.257, 16: 107.543, 32: 171.905, 64: 212.625, 128: 537.572, 256: 774.264,
            512: 2641.979, 1024: 2782.560, 2048: 10000.001, 4096: 10000.001, WHOLE: 10000.001,
        },
        BEIJING: {
            1: 185.268, 16: 628.786, 32: 563.540, 64: 770.180, 128: 705.241, 256: 988.136,
            512: 911.264, 1024: 1001.640, 2048: 1245.079, 4096: 1376.753, 8192: 2782.560,
            WHOLE: 3793.002,
        },
    },
}  # fmt: skip
# Mean over the three data sets: single net, bag of ten.
ABLATION = {
    "NN": (-0.081, -0.046),
    "NN + Ridge": (0.321, 0.394),
    "NN + Ridge + structured dithering": (0.323, 0.400),
    "NN + Ridge + permutations": (0.364, 0.432),
    "MLR": (0.371, 0.433),
}
# Number of hidden layers: mean R² over 100 seeds.
DEPTH = {
    "mlr-regression12": (0.940, 0.954, 0.954, 0.935),
    SLUMP: (0.399, 0.313, 0.274, 0.226),
    "mlr-regression13": (0.455, 0.453, 0.505, 0.425),
    "mlr-regression9": (0.836, 0.839, 0.854, 0.842),
    "mlr-regression2": (0.981, 0.984, 0.985, 0.985),
    "mlr-regression3": (0.952, 0.962, 0.965, 0.960),
    QSAR: (0.448, 0.459, 0.458, 0.470),
    "mlr-regression10": (0.672, 0.668, 0.666, 0.670),
    "mlr-regression15": (0.590, 0.586, 0.582, 0.579),
    "mlr-regression5": (0.839, 0.837, 0.833, 0.832),
    "mlr-regression4": (0.679, 0.677, 0.680, 0.680),
    "mlr-regression14": (0.566, 0.543, 0.523, 0.538),
    "mlr-clv": (0.891, 0.890, 0.889, 0.883),
    BIKE: (0.850, 0.878, 0.901, 0.893),
    "mlr-regression11": (0.937, 0.958, 0.963, 0.955),
    "mlr-regression7": (0.514, 0.522, 0.522, 0.521),
}
NAMES = {
    SLUMP: "Concrete Slump −3",
    QSAR: "QSAR aquatic toxicity",
    BIKE: "Seoul Bike",
    BEIJING: "Beijing PM2.5",
    "mlr-regression12": "Concrete Slump −1",
    "mlr-regression13": "Concrete Slump −2",
    "mlr-regression9": "Servo",
    "mlr-regression2": "Computer Hardware",
    "mlr-regression3": "Yacht",
    "mlr-regression10": "QSAR bioconcentration",
    "mlr-regression15": "QSAR fish toxicity",
    "mlr-regression5": "insurance",
    "mlr-regression4": "Communities and Crime",
    "mlr-regression14": "Abalone",
    "mlr-clv": "CLV",
    "mlr-regression11": "Electrical Grid",
    "mlr-regression7": "blr real estate",
}
