//! Bars by program on a logarithmic axis, as a picture that needs nothing else.

use std::fmt::Write;

const COLOURS: [&str; 8] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#bab0ac",
];
const BAR: f64 = 9.0;
const LEFT: f64 = 110.0;
const WIDTH: f64 = 620.0;
const TOP: f64 = 60.0;

/// `value(program, series)` is a ratio of at least about 1.
pub(crate) fn bars(
    title: &str,
    programs: &[String],
    series: &[String],
    value: impl Fn(usize, usize) -> Option<f64>,
) -> String {
    let most = (0..programs.len())
        .flat_map(|p| (0..series.len()).map(move |s| (p, s)))
        .filter_map(|(p, s)| value(p, s))
        .fold(10.0_f64, f64::max);
    let decades = most.log10().ceil().max(1.0);
    let x = |ratio: f64| LEFT + WIDTH * (ratio.max(1.0).log10() / decades);
    let group = BAR * series.len() as f64 + 8.0;
    let bottom = TOP + group * programs.len() as f64;
    let mut text = String::new();
    let _ = writeln!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" font-family="sans-serif" font-size="11">"#,
        LEFT + WIDTH + 60.0,
        bottom + 30.0
    );
    let _ = writeln!(
        text,
        r#"<rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="15">{}</text>"#,
        escape(title)
    );
    let mut at = 10.0;
    for (s, name) in series.iter().enumerate() {
        let colour = COLOURS.get(s % COLOURS.len()).unwrap_or(&"black");
        let _ = writeln!(
            text,
            r#"<rect x="{at}" y="32" width="10" height="10" fill="{colour}"/><text x="{}" y="41">{}</text>"#,
            at + 14.0,
            escape(name)
        );
        at += 30.0 + 7.0 * name.len() as f64;
    }
    let mut tick = 1.0;
    while tick <= 10_f64.powf(decades) {
        let _ = writeln!(
            text,
            r##"<line x1="{0}" y1="{TOP}" x2="{0}" y2="{bottom}" stroke="#ddd"/><text x="{0}" y="{1}" text-anchor="middle">{tick}x</text>"##,
            x(tick),
            bottom + 16.0
        );
        tick *= 10.0;
    }
    for (p, name) in programs.iter().enumerate() {
        let y = TOP + group * p as f64 + 4.0;
        let _ = writeln!(
            text,
            r#"<text x="{}" y="{}" text-anchor="end">{}</text>"#,
            LEFT - 6.0,
            y + group / 2.0,
            escape(name)
        );
        for s in 0..series.len() {
            let Some(ratio) = value(p, s) else { continue };
            let colour = COLOURS.get(s % COLOURS.len()).unwrap_or(&"black");
            let _ = writeln!(
                text,
                r#"<rect x="{LEFT}" y="{}" width="{:.1}" height="{}" fill="{colour}"><title>{} {}: {ratio:.2}x</title></rect>"#,
                y + BAR * s as f64,
                (x(ratio) - LEFT).max(1.0),
                BAR - 1.0,
                escape(name),
                escape(series.get(s).map_or("", String::as_str))
            );
        }
    }
    text.push_str("</svg>\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bar_for_each_value() {
        let names = ["a<b".to_string(), "c".to_string()];
        let picture = bars("t", &names, &names, |p, s| (p <= s).then_some(10.0));
        assert_eq!(picture.matches("<title>").count(), 3);
        assert!(picture.contains("a&lt;b") && picture.ends_with("</svg>\n"));
    }
}
