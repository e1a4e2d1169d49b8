"""The code of the guide runs as printed."""


def test_the_guide_runs_and_prints(run_guide, capsys):
    run_guide("why.md")
    printed = capsys.readouterr().out
    for words in ("increase of the RMSE", "Friedman's H", "prediction", "leans on", "100% of the"):
        assert words in printed
