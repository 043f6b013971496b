"""Measure suggestions against gold labels, compare runs, and describe data. Rankings and gold labels are a `Run`.

Start at `scores.evaluate`: it computes the formulas of `metrics` with the intervals of `resampling`, and `calibration`
where there are confidences. `significance` compares runs. `dataset` scores taggers on labelled documents, `holdout`
compares one with the zero-shot method after training. `tables` and `report` show results. `description` and `advice`
need no run. How suggestions are made is left to `tagger`.
"""
