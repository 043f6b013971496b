"""`python -m tools.configs` writes `configs/`: options for each published row of the five papers, as TOML.

A file is what `train METHOD --config FILE` reads: the options in which a row differs from the defaults, by `paper` and
by what the row changes. Its head names paper, table, row, published figures and the commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from tagwright.api.options import configuration

FOLDER = Path(__file__).resolve().parents[1] / "configs"

PAPERS = {
    "rts": "RTS, Zhang et al., Findings of EMNLP 2022",
    "maclr": "MACLR, Xiong et al., NAACL 2022",
    "finetune": "MACLR, Xiong et al., NAACL 2022",
    "micol": "MICoL, Zhang et al., WWW 2022",
    "futex": "FuTex, Zhang et al., KDD 2023",
    "depl": "DEPL, Zhang et al., Findings of EACL 2023",
    "svm": "DEPL, Zhang et al., Findings of EACL 2023",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A published row. file: under `configs/`, without its ending. says: table and row. figures: data set -> figures.

    measures: what the figures are. options: what differs from the settings of the paper's first data set. data: data
    set -> the files to train on and to evaluate on, as on the page of the papers' data sets. more: words of the command
    besides.
    """

    method: str
    file: str
    says: str
    measures: str
    figures: Mapping[str, str]
    data: Mapping[str, tuple[str, str]]
    options: Mapping[str, Any] = field(default_factory=dict)
    more: str = ""
    note: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return FOLDER / f"{self.file}.toml"

    @property
    def commands(self) -> list[str]:
        """The commands that train and evaluate on the first data set."""
        train, evaluate = next(iter(self.data.values()))
        name = f"configs/{self.file}.toml"
        output = self.file.replace("/", "-")
        return [
            f"tagwright train {self.method} {train}{self.more} --config {name} --output {output}",
            f"tagwright evaluate {evaluate} --model {output}",
        ]

    @property
    def text(self) -> str:
        """The content of the file."""
        figures = [f"{data}: {values}" for data, values in self.figures.items()]
        head = [PAPERS[self.method], self.says, f"Published, {self.measures}:", *figures]
        head += [self.note] if self.note else []
        lines = [f"# {line}" for line in [*head, *self.commands]]
        return "\n".join([*lines, "", *toml(self.config)]) + "\n"

    @property
    def config(self) -> Any:
        """The settings of the paper with the options of the row; an encoder is only named, and not looked for."""
        options = {name: value for name, value in self.options.items() if name != "encoder"}
        config = configuration(self.method, options, paper=True)
        return replace(config, **{name: value for name, value in self.options.items() if name == "encoder"})


def toml(config: Any) -> Iterator[str]:
    """The lines of the options that differ from the defaults; tables come last."""
    default = type(config)()
    changed = [each.name for each in fields(config) if getattr(config, each.name) != getattr(default, each.name)]
    tables = [name for name in changed if is_dataclass(getattr(config, name))]
    for name in changed:
        if name not in tables:
            yield f"{name} = {_written(getattr(config, name))}"
    for name in tables:
        yield from ("", f"[{name}]", *toml(getattr(config, name)))


def _written(value: Any) -> str:
    """A value as TOML has it: as JSON, but for a value that is not set."""
    return '"none"' if value is None else json.dumps(value, ensure_ascii=False)


LF = ("LF-Amazon-131K", "LF-WikiSeeAlso-320K", "LF-Wikipedia-500K", "LF-Amazon-1M")


def lf(*names: str) -> dict[str, tuple[str, str]]:
    """The files of data sets of the Extreme Classification Repository."""
    return {
        name: (f"{name}/trn.json.gz --labels {name}/lbl.json.gz", f"{name}/tst.json.gz --exclude-self")
        for name in names
    }


def rts() -> Iterator[Row]:
    """Table 4 by data set, and Table 5 on LF-Amazon-131K."""
    measures = "P@1 / P@3 / P@5 / R@1 / R@3 / R@5 / R@10 / R@100"
    slow = {"batch": 256, "epochs": 5, "learning_rate": 5e-8}
    articles = {"min_words": 80, "max_words": 160, "title_pairs": False, "training": slow}
    by_data: dict[str, tuple[Mapping[str, Any], str]] = {
        LF[0]: ({}, "18.74 / 15.30 / 11.96 / 10.64 / 24.16 / 30.45 / 38.19 / 59.34"),
        LF[1]: (articles, "18.64 / 15.14 / 12.07 / 10.86 / 22.68 / 28.29 / 35.47 / 57.30"),
        LF[2]: (articles, "30.67 / 19.03 / 14.34 / 10.58 / 18.48 / 22.51 / 28.23 / 48.00"),
        LF[3]: ({"training": {"learning_rate": 5e-6}}, "10.00 / 10.95 / 8.41 / 7.34 / 23.09 / 29.14 / 36.30 / 55.84"),
    }
    for data, (options, figures) in by_data.items():
        row = {"method": "rts", "says": f"Table 4, {data}, row RTS; settings of Table 3", "measures": measures}
        yield Row(**row, file=f"rts/{data.lower()}", figures={data: figures}, data=lf(data), options=options)
    ablations: dict[str, tuple[Mapping[str, Any], str, str]] = {
        "fixed": (
            {"segmentation": "fixed"},
            "Fixed segmentation",
            "17.26 / 14.07 / 11.01 / 9.91 / 22.41 / 28.21 / 35.21 / 54.66",
        ),
        "natural": (
            {"segmentation": "natural"},
            "Natural segmentation",
            "17.34 / 14.15 / 11.01 / 9.82 / 22.40 / 28.12 / 35.26 / 56.18",
        ),
        "bert": (
            {"encoder": "bert-base-uncased"},
            "RTS with BERT",
            "18.57 / 15.01 / 11.75 / 10.57 / 23.75 / 29.94 / 37.56 / 58.57",
        ),
        "no-labels": (
            {"label_pairs": False},
            "No labels",
            "18.37 / 14.86 / 11.53 / 10.45 / 23.53 / 29.41 / 37.00 / 57.82",
        ),
        "titles-only": (
            {"segment_pairs": False, "label_pairs": False},
            "(t, s_i) pairs only",
            "17.50 / 14.61 / 11.35 / 10.03 / 23.30 / 29.10 / 35.92 / 55.03",
        ),
    }
    for name, (options, says, figures) in ablations.items():
        row = {"method": "rts", "says": f"Table 5, {LF[0]}, row {says}", "measures": measures}
        yield Row(**row, file=f"rts/{LF[0].lower()}-{name}", figures={LF[0]: figures}, data=lf(LF[0]), options=options)


def maclr() -> Iterator[Row]:
    """Table 1, Table 4, and fine-tuning of Tables 2, 3, 11 and 12."""
    measures = "P@1 / P@3 / P@5 / R@1 / R@3 / R@5 / R@10 / R@100"
    whole = {
        LF[0]: "18.13 / 15.42 / 11.93 / 10.35 / 24.45 / 30.43 / 37.28 / 54.99",
        LF[1]: "16.31 / 13.53 / 10.78 / 9.71 / 20.39 / 25.37 / 32.05 / 53.83",
        LF[2]: "28.44 / 17.75 / 13.53 / 10.40 / 18.16 / 22.38 / 28.52 / 50.09",
        LF[3]: "9.58 / 10.41 / 8.03 / 7.38 / 22.01 / 27.72 / 34.48 / 55.23",
    }
    row: dict[str, Any] = {"measures": measures, "data": lf(*LF)}
    says = "Table 1, row MACLR, the same settings on all data sets (Appendix A); Table 4, row 7"
    yield Row(**row, method="maclr", file="maclr/maclr", says=says, figures=whole)
    switches = ("clustering", "label_regularisation", "encoder_pairs", "tfidf_pairs")
    stages = {
        "1-ict": ("", "13.82 / 11.41 / 8.90 / 7.76 / 18.09 / 22.80 / 28.94 / 47.40"),
        "2-clusters": ("c", "15.79 / 13.16 / 10.22 / 8.85 / 20.90 / 26.27 / 32.61 / 49.83"),
        "3-labels": ("l", "16.02 / 13.29 / 10.28 / 9.04 / 21.27 / 26.51 / 32.97 / 50.34"),
        "4-stage-1": ("cl", "16.37 / 13.71 / 10.65 / 9.29 / 21.63 / 27.03 / 33.93 / 51.45"),
        "5-encoder-pairs": ("cle", "17.01 / 14.75 / 11.41 / 9.72 / 23.33 / 29.04 / 35.20 / 53.55"),
        "6-tfidf-pairs": ("clt", "16.51 / 14.12 / 10.92 / 9.52 / 22.43 / 28.02 / 34.64 / 52.78"),
    }
    for name, (on, figures) in stages.items():
        options = {switch: False for switch in switches if switch[0] not in on}
        says = f"Table 4, {LF[0]}, row {name[0]}"
        figures_of = {LF[0]: figures}
        yield Row(**row, method="maclr", file=f"maclr/{name}", says=says, figures=figures_of, options=options)
    few: dict[str, tuple[str, str, Mapping[str, str]]] = {
        "1-percent-of-labels": (
            "2",
            "--share-of-labels 0.01",
            {
                LF[0]: "18.74 / 16.07 / 12.52 / 10.73 / 25.44 / 31.89 / 39.17 / 57.55",
                LF[1]: "19.09 / 14.57 / 11.53 / 11.39 / 22.34 / 27.63 / 34.81 / 57.92",
                LF[2]: "44.27 / 28.46 / 21.83 / 15.14 / 27.04 / 33.33 / 42.03 / 67.95",
                LF[3]: "10.37 / 11.23 / 8.58 / 7.57 / 23.55 / 29.60 / 36.71 / 56.44",
            },
        ),
        "5-percent-of-labels": (
            "3",
            "--share-of-labels 0.05",
            {
                LF[0]: "19.56 / 16.19 / 12.64 / 11.15 / 25.65 / 32.18 / 39.63 / 58.45",
                LF[1]: "20.99 / 15.57 / 12.26 / 12.59 / 23.94 / 29.41 / 36.78 / 59.81",
                LF[2]: "47.25 / 30.57 / 23.54 / 16.20 / 29.01 / 35.81 / 45.13 / 71.35",
                LF[3]: "10.60 / 11.47 / 8.80 / 7.89 / 24.14 / 30.44 / 37.95 / 58.45",
            },
        ),
        "1-percent-of-pairs": (
            "11",
            "--share-of-pairs 0.01",
            {
                LF[0]: "18.92 / 16.17 / 12.62 / 10.98 / 25.64 / 32.16 / 39.46 / 58.24",
                LF[1]: "20.49 / 15.50 / 12.24 / 12.34 / 23.88 / 29.43 / 36.76 / 59.82",
            },
        ),
        "5-percent-of-pairs": (
            "12",
            "--share-of-pairs 0.05",
            {
                LF[0]: "19.75 / 16.45 / 12.87 / 11.18 / 25.99 / 32.70 / 40.38 / 59.82",
                LF[1]: "21.80 / 16.61 / 13.12 / 13.27 / 25.74 / 31.59 / 39.25 / 62.13",
            },
        ),
    }
    for name, (table, share, published) in few.items():
        train, evaluate = lf(LF[0])[LF[0]]
        yield Row(
            method="finetune",
            file=f"maclr/finetune-{name}",
            says=f"Table {table}, row MACLR: fine-tuning of a tagger by maclr/maclr.toml",
            measures=measures,
            figures=published,
            data={LF[0]: (f"{train.partition(' --labels')[0]} --model maclr-maclr", evaluate)},
            options={"training": {"steps": 10_000}} if name.startswith("5") else {},
            more=f" {share}",
        )


def micol() -> Iterator[Row]:
    """Table 4: ten meta-paths, two architectures."""
    published = {
        "P-A-P": ("68.77 / 52.85 / 41.43 / 58.52 / 52.80", "49.74 / 38.18 / 31.54 / 41.22 / 37.27",
                  "70.34 / 53.55 / 41.68 / 59.43 / 53.37", "52.12 / 39.21 / 32.07 / 42.55 / 38.18"),
        "P-V-P": ("65.89 / 51.23 / 40.63 / 56.56 / 51.45", "44.40 / 35.07 / 29.66 / 37.61 / 34.58",
                  "67.20 / 52.03 / 41.03 / 57.50 / 52.10", "46.68 / 36.33 / 30.51 / 39.08 / 35.74"),
        "P->P": ("70.94 / 53.91 / 41.90 / 59.82 / 53.67", "52.00 / 39.03 / 31.95 / 42.40 / 38.08",
                 "70.33 / 53.91 / 42.01 / 59.71 / 53.65", "52.66 / 39.46 / 32.07 / 42.86 / 38.30"),
        "P<-P": ("70.95 / 53.74 / 41.78 / 59.70 / 53.56", "51.95 / 39.05 / 31.92 / 42.40 / 38.06",
                 "71.69 / 54.30 / 42.14 / 60.33 / 54.06", "52.65 / 39.24 / 31.86 / 42.68 / 38.11"),
        "P->P<-P": ("70.62 / 53.69 / 41.84 / 59.60 / 53.55", "51.24 / 38.69 / 31.72 / 41.96 / 37.74",
                    "71.77 / 54.44 / 42.19 / 60.48 / 54.15", "54.12 / 40.36 / 32.57 / 43.91 / 39.06"),
        "P<-P->P": ("70.39 / 53.79 / 41.87 / 59.63 / 53.56", "51.74 / 38.86 / 31.87 / 42.20 / 37.95",
                    "70.45 / 53.56 / 41.68 / 59.44 / 53.36", "52.43 / 39.32 / 31.90 / 42.71 / 38.14"),
        "P-(A,A)-P": ("68.73 / 52.72 / 41.30 / 58.40 / 52.69", "49.63 / 37.94 / 31.39 / 41.01 / 37.11",
                      "70.28 / 53.51 / 41.71 / 59.39 / 53.38", "52.90 / 39.37 / 32.01 / 42.85 / 38.30"),
        "P-(A,V)-P": ("68.32 / 52.63 / 41.35 / 58.23 / 52.63", "48.94 / 37.43 / 30.99 / 40.45 / 36.64",
                      "70.24 / 53.54 / 41.77 / 59.40 / 53.43", "51.64 / 38.97 / 31.95 / 42.25 / 37.97"),
        "P->(P,P)<-P": ("70.15 / 53.34 / 41.60 / 59.20 / 53.22", "51.63 / 38.79 / 31.72 / 42.11 / 37.81",
                        "70.76 / 53.79 / 41.88 / 59.71 / 53.63", "51.86 / 39.24 / 31.84 / 42.54 / 38.00"),
        "P<-(P,P)->P": ("70.50 / 53.44 / 41.61 / 59.37 / 53.31", "51.98 / 38.76 / 31.72 / 42.15 / 37.86",
                        "70.61 / 53.76 / 41.87 / 59.64 / 53.57", "52.18 / 39.11 / 31.72 / 42.49 / 37.94"),
    }  # fmt: skip
    short = {"P->P": "PR", "P<-P": "RP", "P->P<-P": "PRP", "P<-P->P": "RPR", "P->(P,P)<-P": "PRRP"}
    short |= {"P<-(P,P)->P": "RPPR"}
    data = {
        "MAG-CS": (
            "MAG/MAG_train.json --input-format micol --labels MAG/MAG_label.json",
            "MAG/MAG_test.json --input-format micol",
        ),
        "PubMed": (
            "PubMed/PubMed_train.json --input-format micol --labels PubMed/PubMed_label.json",
            "PubMed/PubMed_test.json --input-format micol",
        ),
    }
    bi = {"architecture": "bi", "pooling": "cls", "max_length": 256, "training": {"batch": 8}}
    for path, (mag, pubmed, cross_mag, cross_pubmed) in published.items():
        name = short.get(path, "".join(sign for sign in path if sign.isalpha())).lower()
        architectures: dict[str, tuple[Mapping[str, Any], str, str]] = {
            "bi": (bi, mag, pubmed),
            "cross": ({}, cross_mag, cross_pubmed),
        }
        for kind, (options, *figures) in architectures.items():
            yield Row(
                method="micol",
                file=f"micol/{kind}-{name}",
                says=f"Table 4, row MICoL ({kind.capitalize()}-Encoder, {path}); the same settings on both data sets",
                measures="P@1 / P@3 / P@5 / nDCG@3 / nDCG@5",
                figures=dict(zip(data, figures, strict=True)),
                data=data,
                options={**options, "meta_path": path},
            )


def futex() -> Iterator[Row]:
    """Table 2, row FuTex, and the rows of Table 3, by data set."""
    rows: dict[str, tuple[Mapping[str, Any], str, str, str]] = {
        "futex": (
            {},
            "Tables 2 and 3, row FuTex",
            "76.92 / 60.89 / 49.14 / 66.48 / 60.99",
            "59.00 / 45.33 / 37.98 / 48.69 / 43.88",
        ),
        "no-network": (
            {"network": "none"},
            "Table 3, row FuTex-NoNetwork",
            "76.01 / 60.13 / 48.59 / 65.67 / 60.31",
            "54.22 / 44.10 / 37.22 / 46.76 / 42.44",
        ),
        "no-hierarchy": (
            {"rankings": ["abstract"]},
            "Table 3, row FuTex-NoHierarchy",
            "76.55 / 60.48 / 48.79 / 66.07 / 60.60",
            "58.02 / 44.21 / 36.81 / 47.60 / 42.72",
        ),
        "no-self-training": (
            {"self_training": False},
            "Table 3, row FuTex-NoSelfTrain",
            "76.73 / 60.40 / 48.27 / 65.91 / 59.93",
            "58.77 / 44.56 / 36.48 / 48.01 / 42.54",
        ),
    }
    for data, folder, settings in (
        ("MAG-CS", "MAGCS", {}),
        ("PubMed", "PubMed", {"count": 150_000, "training": {"epochs": 5}}),
    ):
        papers = f"{folder}/{folder}_paper.json --input-format futex"
        for name, (options, says, mag, pubmed) in rows.items():
            yield Row(
                method="futex",
                file=f"futex/{data.lower()}-{name}",
                says=f"{says}, {data}",
                measures="P@1 / P@3 / P@5 / nDCG@3 / nDCG@5",
                figures={data: mag if folder == "MAGCS" else pubmed},
                data={data: (f"{papers} --labels {folder}/{folder}_label.json", papers)},
                options={**settings, **options},
            )


def depl() -> Iterator[Row]:
    """Tables 3, 5, 6 and 7. The rows of Wiki-500K re-rank candidates of X-Transformer, and have no file."""
    measures = "P@1 / P@3 / P@5, PSP@1 / PSP@3 / PSP@5; where a sign stands, less DEPL (Table 6)"
    data = {
        "EURLex-4K": (
            "EURLex-4K/train.csv --labels EURLex-4K/labels.txt",
            "EURLex-4K/dev.csv --train EURLex-4K/train.csv",
        ),
        "AmazonCat-13K": (
            "AmazonCat-13K/train_raw_texts.txt --labels AmazonCat-13K/train_labels.txt",
            "AmazonCat-13K/test_raw_texts.txt --train AmazonCat-13K/train_raw_texts.txt",
        ),
        "Wiki10-31K": (
            "Wiki10-31K/train_raw_texts.txt --labels Wiki10-31K/train_labels.txt",
            "Wiki10-31K/test_raw_texts.txt --train Wiki10-31K/train_raw_texts.txt",
        ),
    }
    svm = {
        "EURLex-4K": "83.44 / 70.62 / 59.08, 39.18 / 48.31 / 53.37",
        "AmazonCat-13K": "93.20 / 78.89 / 64.14, 51.83 / 65.41 / 72.82",
        "Wiki10-31K": "84.61 / 74.64 / 65.89, 11.84 / 14.00 / 15.81",
    }
    same: dict[str, Any] = {"measures": measures}
    yield Row(**same, method="svm", file="depl/svm", says="Tables 5 and 3, row SVM", figures=svm, data=data)
    rows: dict[str, tuple[Mapping[str, Any], str, Mapping[str, str]]] = {
        "depl": (
            {},
            "Tables 5 and 3, row DEPL",
            {
                "EURLex-4K": "85.38 / 71.86 / 59.91, 45.60 / 52.28 / 53.52",
                "AmazonCat-13K": "94.86 / 80.85 / 64.55, 55.94 / 70.01 / 76.87",
                "Wiki10-31K": "84.63 / 74.80 / 65.96, 17.20 / 16.90 / 16.95",
            },
        ),
        "depl-cls": (
            {"variant": "depl_cls"},
            "Tables 5 and 3, row DEPL+cls",
            {
                "EURLex-4K": "86.43 / 73.77 / 62.19, 44.60 / 52.74 / 54.64",
                "AmazonCat-13K": "96.16 / 82.23 / 67.65, 55.21 / 69.73 / 75.94",
                "Wiki10-31K": "88.57 / 78.04 / 68.75, 16.73 / 16.84 / 16.67",
            },
        ),
        "de-ret": (
            {"variant": "de_ret"},
            "Tables 6 and 7, row DE-ret",
            {
                "EURLex-4K": "-1.34 / -1.18 / -1.16, 44.87 / 52.17 / 53.40",
                "Wiki10-31K": "-3.40 / -7.71 / -10.74, 16.71 / 15.76 / 16.35",
            },
        ),
        "no-start": (
            {"trained_start": False},
            "Table 6, row w/o pre-train",
            {
                "EURLex-4K": "-6.81 / -6.72 / -6.16, -6.87 / -7.09 / -5.87",
                "Wiki10-31K": "-4.81 / -8.66 / -12.1, -2.46 / -2.00 / -1.92",
            },
        ),
        "no-hard-negatives": (
            {"hard_negatives": 0},
            "Table 6, row w/o neg",
            {
                "EURLex-4K": "-2.52 / -2.63 / -2.2, -3.59 / -3.66 / -1.9",
                "Wiki10-31K": "-2.01 / -5.89 / -4.93, -1.15 / -1.17 / -1.37",
            },
        ),
        "five-hard-negatives": (
            {"hard_negatives": 5},
            "Table 6, row 5 hard negative",
            {
                "EURLex-4K": "-1.55 / -1.19 / -1.12, -3.57 / -2.98 / -1.32",
                "Wiki10-31K": "-0.84 / -3.03 / -4.16, -1.22 / -0.99 / -0.92",
            },
        ),
        "cls-pooling": (
            {"label_pooling": "cls"},
            "Table 7, row DEPL with cls (PSP alone)",
            {"EURLex-4K": "42.32 / 47.26 / 47.53", "Wiki10-31K": "14.71 / 14.58 / 15.33"},
        ),
    }
    wiki = {"sampled_labels": 500, "training": {"learning_rate": 1e-5}}
    note = "The paper has rates of 1e-4 and 1e-3 for pooler and classifier: here they are 2 and 40 times the encoder's."
    for name, (options, says, figures) in rows.items():
        row: dict[str, Any] = {**same, "method": "depl"}
        here = {key: value for key, value in figures.items() if key != "Wiki10-31K"}
        files = {key: data[key] for key in here}
        yield Row(**row, file=f"depl/{name}", says=says, figures=here, data=files, options=options)
        there: dict[str, Any] = {"figures": {"Wiki10-31K": figures["Wiki10-31K"]}}
        there["data"] = {"Wiki10-31K": data["Wiki10-31K"]}
        yield Row(**row, **there, file=f"depl/wiki10-31k-{name}", says=says, options={**wiki, **options}, note=note)


ROWS = [*rts(), *maclr(), *micol(), *futex(), *depl()]


def main() -> None:
    """Write the files, and remove those of rows that are gone."""
    for path in FOLDER.rglob("*.toml"):
        path.unlink()
    for row in ROWS:
        row.path.parent.mkdir(parents=True, exist_ok=True)
        row.path.write_text(row.text, encoding="utf-8")


if __name__ == "__main__":
    main()
