//! Bars and lines on logarithmic axes, as pictures that need nothing else.

use std::fmt::Write;

const COLOURS: [&str; 10] = [
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#bab0ac",
    "#edc948", "#ff9da7",
];
const BAR: f64 = 9.0;
const LEFT: f64 = 110.0;
const WIDTH: f64 = 780.0;
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
    open(&mut text, title, LEFT + WIDTH + 60.0, bottom + 30.0);
    let names: Vec<&str> = series.iter().map(String::as_str).collect();
    legend(&mut text, &names);
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

/// A line of a panel; both axes are logarithmic, so values are positive.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A small plot.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) lines: Vec<Line>,
}

const PANEL_WIDTH: f64 = 380.0;
const PANEL_HEIGHT: f64 = 230.0;
const MARGIN: f64 = 50.0;

/// Rows of two panels below one legend.
pub(crate) fn panels(title: &str, rows: &[[Panel; 2]]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in rows.iter().flatten().flat_map(|panel| &panel.lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    let mut text = String::new();
    open(
        &mut text,
        title,
        2.0 * PANEL_WIDTH,
        TOP + PANEL_HEIGHT * rows.len() as f64,
    );
    legend(&mut text, &names);
    for (row, pair) in rows.iter().enumerate() {
        for (column, panel) in pair.iter().enumerate() {
            let at = (PANEL_WIDTH * column as f64, TOP + PANEL_HEIGHT * row as f64);
            draw(&mut text, panel, at, &names);
        }
    }
    text.push_str("</svg>\n");
    text
}

/// Powers of ten that enclose all values.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for value in values.filter(|value| *value > 0.0) {
        least = least.min(value);
        most = most.max(value);
    }
    if most == 0.0 {
        return (0.0, 1.0);
    }
    let from = least.log10().floor();
    (from, most.log10().ceil().max(from + 1.0))
}

fn draw(text: &mut String, panel: &Panel, (left, top): (f64, f64), names: &[&str]) {
    let points = || panel.lines.iter().flat_map(|line| &line.points);
    // A few threads do not fill a decade.
    let most = points().map(|(x, _)| x.log2()).fold(1.0, f64::max);
    let (low, high) = decades(points().map(|(_, y)| *y));
    let x =
        |value: f64| left + MARGIN + (PANEL_WIDTH - MARGIN - 20.0) * value.max(1.0).log2() / most;
    let bottom = top + PANEL_HEIGHT - 35.0;
    let y = |value: f64| bottom - (PANEL_HEIGHT - 60.0) * (value.log10() - low) / (high - low);
    let _ = writeln!(
        text,
        r#"<text x="{}" y="{}" font-size="12">{}</text>"#,
        left + MARGIN,
        top + 14.0,
        escape(&panel.title)
    );
    for tick in (low as i32)..=(high as i32) {
        let value = 10_f64.powi(tick);
        let _ = writeln!(
            text,
            r##"<line x1="{}" y1="{1:.1}" x2="{2}" y2="{1:.1}" stroke="#ddd"/><text x="{3}" y="{4:.1}" text-anchor="end">{value}</text>"##,
            left + MARGIN,
            y(value),
            left + PANEL_WIDTH - 20.0,
            left + MARGIN - 5.0,
            y(value) + 4.0
        );
    }
    let mut marks: Vec<f64> = points().map(|(x, _)| *x).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    for mark in marks {
        let _ = writeln!(
            text,
            r#"<text x="{:.1}" y="{}" text-anchor="middle">{mark}</text>"#,
            x(mark),
            bottom + 16.0
        );
    }
    for line in &panel.lines {
        let number = names
            .iter()
            .position(|name| *name == line.name)
            .unwrap_or(0);
        let colour = COLOURS.get(number % COLOURS.len()).unwrap_or(&"black");
        let path: Vec<String> = line
            .points
            .iter()
            .filter(|(_, value)| *value > 0.0)
            .map(|(at, value)| format!("{:.1},{:.1}", x(*at), y(*value)))
            .collect();
        let _ = writeln!(
            text,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"><title>{}</title></polyline>"#,
            path.join(" "),
            escape(&line.name)
        );
        // Dots show where was measured, and a line that ended at its first point.
        for point in &path {
            let Some((at, value)) = point.split_once(',') else {
                continue;
            };
            let _ = writeln!(
                text,
                r#"<circle cx="{at}" cy="{value}" r="2" fill="{colour}"/>"#
            );
        }
    }
}

fn open(text: &mut String, title: &str, width: f64, height: f64) {
    let _ = writeln!(
        text,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">"#,
    );
    let _ = writeln!(
        text,
        r#"<rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="15">{}</text>"#,
        escape(title)
    );
}

fn legend(text: &mut String, names: &[&str]) {
    let mut at = 10.0;
    for (number, name) in names.iter().enumerate() {
        let colour = COLOURS.get(number % COLOURS.len()).unwrap_or(&"black");
        let _ = writeln!(
            text,
            r#"<rect x="{at}" y="32" width="10" height="10" fill="{colour}"/><text x="{}" y="41">{}</text>"#,
            at + 14.0,
            escape(name)
        );
        at += 30.0 + 7.0 * name.len() as f64;
    }
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

    #[test]
    fn lines_stay_inside_their_panel() {
        let line = Line {
            name: "plain".to_string(),
            points: vec![(1.0, 0.02), (1000.0, 70.0)],
        };
        let panel = Panel {
            title: "t".to_string(),
            lines: vec![line],
        };
        let picture = panels("t", &[[panel.clone(), panel]]);
        let points = picture
            .split("points=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let numbers: Vec<f64> = points
            .into_iter()
            .flat_map(|text| text.split([' ', ',']))
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(numbers.len(), 4);
        assert!(
            numbers
                .iter()
                .step_by(2)
                .all(|x| (MARGIN..PANEL_WIDTH).contains(x))
        );
        assert!(
            numbers
                .iter()
                .skip(1)
                .step_by(2)
                .all(|y| (TOP..TOP + PANEL_HEIGHT).contains(y))
        );
    }
}
