//! Cases of `kubernetes-resource`. They hold the objects that are read, and need no server.

use crate::oracle::case::Case;
use crate::oracle::edges::{FLOATS, NAMES, Place, common, sweep, sweep_in};

const TYPES: [&str; 3] = ["float64", "int64", "quantity"];

const JSON: &str = r#"{"n": 12.7, "i": 3, "big": 9007199254740993, "neg": -2.5, "t": "1k", "w": "12 of 40", "e": "", "l": [1, 2, {"d": 7}], "x": null,
 "b": true, "o": {"a": {"b": 4}, "dotted.name": 5}, "deep": {"n": "500m"}, "zero": 0, "exp": 1e3, "huge": 1e400}"#;

const YAML: &str = "n: 12.7\ni: 3\nneg: -2.5\nt: 1k\nw: 12 of 40\ne: ''\nl: [1, 2, {d: 7}]\nx: ~\nb: true\no: {a: {b: 4}, dotted.name: 5}\ndeep: {n: 500m}\nzero: 0\nhex: 0x10\noct: 0o17\nexp: 1e3\nquoted: '8'\nfloat: 5.0\ninf: .inf\nnan: .nan\ndate: 2026-01-01\nbig: 9223372036854775808\n";

fn base() -> Case {
    Case::new("kubernetes-resource").with_all(&[
        ("resourceKind", "ConfigMap"),
        ("resourceName", "numbers"),
        ("key", "value"),
        ("targetValue", "5"),
    ])
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = base();
    let document = base.clone().with_all(&[("format", "json"), ("valueLocation", "a.b")]).named("json");
    let mut cases = sweep(&base, "targetValue", FLOATS);
    cases.extend(sweep(&base, "activationTargetValue", FLOATS));
    cases.extend(sweep(&base, "resourceName", NAMES));
    cases.extend(sweep(&base, "key", NAMES));
    cases.extend(sweep(
        &base,
        "resourceKind",
        &["", " ", "ConfigMap", "Secret", "configmap", "SECRET", "Deployment", "ConfigMap,Secret"],
    ));
    cases.extend(sweep(&base, "format", &["", " ", "number", "Number", "json", "yaml", "toml", "number,json"]));
    cases.extend(sweep(&document, "valueLocation", NAMES));
    cases.extend(sweep(&document, "valueType", &["", " ", "float64", "int64", "quantity", "Float64", "float", "int"]));
    cases.extend(sweep_in(&base, "valueLocation", Place::Metadata, &["", " ", "a"]));
    cases.extend(common(&base, "targetValue"));
    cases.extend(numbers(&base));
    cases.extend(documents(&base));
    cases.extend(objects(&base));
    cases
}

/// What the text of a key is as a number.
fn numbers(base: &Case) -> Vec<Case> {
    let texts = [
        "12",
        "12.5",
        "-3",
        "+3",
        "1e3",
        "1E3",
        "500m",
        "1k",
        "1Ki",
        "12abc",
        "12\n",
        "  12 of 40",
        "\t12",
        ".5",
        "5.",
        "\n12",
        "",
        " ",
        "many",
        "-",
        ".",
        "12e",
        "12e5x",
        "1_000",
        "0x10",
        "5p1",
        "1p",
        "inf",
        "-Inf",
        "NaN",
        "nan",
        "1e999",
        "99999999999999999999",
        "9223372036854775807",
        "0",
        "0.0004",
        "0.0005",
        "-0.5",
        "1,5",
        "1.5.5",
        "١٢",
        "\u{a0}12",
        "07",
        "0b1",
        "0o7",
        "100u",
        "1n",
        "1Ei",
        "--1",
        "+-1",
        "1 2",
        "true",
    ];
    let mut cases = Vec::new();
    for text in texts {
        for value_type in TYPES {
            let case = base.clone().with("valueType", value_type).object("ConfigMap", "numbers", &[("value", text)]);
            cases.push(case.named(format!("reads {text:?} as {value_type}")).read(1));
        }
    }
    for activation in ["6.9", "7", "7.1", "-8"] {
        let case =
            base.clone().with("activationTargetValue", activation).object("ConfigMap", "numbers", &[("value", "7")]);
        cases.push(case.named(format!("reads 7 above {activation}")).read(1));
    }
    cases
}

fn documents(base: &Case) -> Vec<Case> {
    let paths = [
        "n",
        "i",
        "big",
        "neg",
        "t",
        "w",
        "e",
        "l",
        "l.0",
        "l.2.d",
        "l.#",
        "l.9",
        "l.-1",
        "x",
        "b",
        "o",
        "o.a.b",
        "o.dotted.name",
        r"o.dotted\.name",
        "deep.n",
        "zero",
        "hex",
        "oct",
        "exp",
        "quoted",
        "float",
        "inf",
        "nan",
        "date",
        "huge",
        "absent",
        "o.absent",
        "n.x",
        "O.a.b",
        "*",
        "o.*.b",
        "l.#.d",
        "l.#(d==7).d",
        "@this",
        "l|0",
        "o.a.b.",
        ".n",
        "N",
    ];
    let mut cases = Vec::new();
    for (format, text) in [("json", JSON), ("yaml", YAML)] {
        for path in paths {
            for value_type in TYPES {
                let parameters = [("format", format), ("valueLocation", path), ("valueType", value_type)];
                let case = base.clone().with_all(&parameters).object("ConfigMap", "numbers", &[("value", text)]);
                cases.push(case.named(format!("reads {format} {path} as {value_type}")).read(1));
            }
        }
        let broken = [
            "",
            " ",
            "{",
            "[1, 2]",
            "7",
            "\"n\"",
            "null",
            "n: 1",
            "{\"n\": 1} x",
            "a: b: c",
            "{\"n\": 1, \"n\": 2}",
            "n: 1\nn: 2",
            "- n: 1",
            "---\nn: 1\n---\nn: 2",
            "n: 'a",
            "{n: 4}",
            "{\"n\":4,}",
        ];
        for text in broken {
            let case = base.clone().with_all(&[("format", format), ("valueLocation", "n")]);
            let case = case.object("ConfigMap", "numbers", &[("value", text)]);
            cases.push(case.named(format!("reads n of {format} {text:?}")).read(1));
        }
    }
    cases
}

/// Objects and keys that there are, and that there are not.
fn objects(base: &Case) -> Vec<Case> {
    let secret = base.clone().with("resourceKind", "Secret");
    let seven = [("value", "7")];
    vec![
        base.clone().named("reads no object").read(1),
        base.clone().object("ConfigMap", "other", &seven).named("reads another object").read(1),
        base.clone().object("ConfigMap", "numbers", &[("other", "7")]).named("reads another key").read(1),
        base.clone().object("ConfigMap", "numbers", &[("Value", "7")]).named("reads a key with a capital").read(1),
        base.clone().object("Secret", "numbers", &seven).named("reads a ConfigMap where there is a Secret").read(1),
        secret.clone().object("Secret", "numbers", &seven).named("reads a Secret").read(1),
        secret
            .clone()
            .object("ConfigMap", "numbers", &seven)
            .named("reads a Secret where there is a ConfigMap")
            .read(1),
        secret
            .clone()
            .object("Secret", "numbers", &[("value", "many")])
            .named("reads a Secret without a number")
            .read(1),
        secret.named("reads no Secret").read(1),
    ]
}
