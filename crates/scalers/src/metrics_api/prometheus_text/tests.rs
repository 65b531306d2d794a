use proptest::prelude::*;

use super::*;

const TEXT: &str = "\
# HELP queue_length Items that wait. \\ \"
# TYPE queue_length gauge
queue_length{queue=\"a\",zone=\"1\"} 3
queue_length{ queue = \"b\" , } 4.5 1700000000000\r
queue_length{queue=\"c\\\"d\\\\e\\nf\"} 1e3

# TYPE latency histogram
latency_bucket{le=\"1\"} 5
latency_bucket{le=\"+Inf\"} 8
latency_sum 12.5
latency_count 8
# TYPE age summary
age{quantile=\"0.5\"} 7
plain 1
\tplain{a=\"b\"}\t2
# a comment
# TYPE total counter
total 9
{\"with.dots\",x=\"y\"} 6
odd NaN
endless +Inf";

fn find(selector: &str) -> Result<f64, Unusable> {
    Selector::parse(selector).unwrap().find(TEXT)
}

#[test]
fn samples_are_found_by_their_labels() {
    let rows = [
        ("queue_length", 3.0),
        ("queue_length{}", 3.0),
        ("queue_length{queue=\"b\"}", 4.5),
        ("queue_length{queue='b'}", 4.5),
        ("queue_length{queue=`b`,}", 4.5),
        ("{__name__=\"queue_length\", queue=\"b\"}", 4.5),
        ("queue_length{zone=\"1\",queue=\"a\"}", 3.0),
        ("queue_length{queue=\"c\\\"d\\\\e\\nf\"}", 1000.0),
        (" queue_length { queue = \"b\" } ", 4.5),
        ("plain", 1.0),
        ("plain{a=\"b\"}", 2.0),
        ("total", 9.0),
        ("{\"with.dots\"}", 6.0),
        ("{\"with.dots\",x=\"y\"}", 6.0),
        ("latency_count", 8.0),
        ("latency_bucket{le=\"1\"}", 5.0),
    ];
    for (selector, expected) in rows {
        assert_eq!(find(selector), Ok(expected), "{selector}");
    }
}

#[test]
fn every_operator_means_equal() {
    for operator in ["=", "!=", "=~", "!~"] {
        assert_eq!(find(&format!("queue_length{{queue{operator}\"b\"}}")), Ok(4.5), "{operator}");
        assert!(find(&format!("queue_length{{queue{operator}\"b|c\"}}")).is_err(), "{operator}");
    }
}

#[test]
fn what_is_not_there_has_no_value() {
    let rows = [
        ("another metric", "queue", "nothing"),
        ("another label", "queue_length{queue=\"x\"}", "nothing"),
        ("a label that is not there", "plain{c=\"\"}", "nothing"),
        ("a histogram", "latency", "no counter"),
        ("a summary", "age{quantile=\"0.5\"}", "no counter"),
    ];
    for (name, selector, expected) in rows {
        let Err(Unusable::NoValue(problem)) = find(selector) else { panic!("{name}") };
        assert!(problem.contains(expected), "{name}: {problem}");
    }
    assert!(find("odd").unwrap().is_nan() && find("endless").unwrap().is_infinite(), "refused where all formats meet");
}

#[test]
fn text_that_is_not_in_order_is_malformed() {
    let lines = [
        "<html>",
        "queue",
        "queue{a=\"b\" 1",
        "queue{a=b} 1",
        "queue{a=\"b} 1",
        "queue{a=\"\\x\"} 1",
        "queue one",
        "queue 1 2 3",
        "queue 1 soon",
        "queue{a=\"b\" c=\"d\"} 1",
        "1queue 1",
        "{a=\"b\"} 1",
        "# TYPE queue",
        "queue{a!=\"b\"} 1",
    ];
    for line in lines {
        let text = format!("good 1\n{line}\n");
        let found = Selector::parse("good").unwrap().find(&text);
        assert_eq!(found, Err(Unusable::malformed("line 2 is not Prometheus text")), "{line}");
    }
}

#[test]
fn invalid_selectors_are_rejected() {
    for selector in
        ["", "{}", "{a=\"b\"}", "a{", "a{b}", "a{b=c}", "a{b=\"c\"", "a b", "sum(a)", "a{b=\"c\"} 1", "a[5m]", "1"]
    {
        assert!(Selector::parse(selector).is_err(), "{selector}");
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(selector in "(.|[a-z{}=\",~!'`\\\\]){0,20}", text in "(.|[a-z{}=\",# 0-9\n\\\\]){0,60}") {
        if let Ok(selector) = Selector::parse(&selector) {
            let _ = selector.find(&text);
        }
    }

    #[test]
    fn what_is_written_is_read(name in "[a-z_]{1,8}", label in "[a-z]{1,4}", value in "[^\\\\\"\n\r]{0,8}", number in -1e9..1e9f64) {
        let series = format!("{name}{{{label}=\"{value}\"}}");
        let text = format!("{series} {number}\n");
        prop_assert_eq!(Selector::parse(&series).unwrap().find(&text), Ok(number));
    }
}
