//! The plots of the page: rate, latency and CPU, each over the queue depths.

use std::error::Error;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::SVGBackend;
use plotters::series::DashedLineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoFont as _, RGBColor, ShapeStyle, TextStyle};

use super::model::{Generator, ModelPoint, Row, RowId, Scorecard};
use super::svg::{Ink, Mark, finish};
use super::text::{grouped, us};

/// Width and height of a plot in its own units, which are pixels on a narrow screen.
const SIZE: (u32, u32) = (460, 320);

/// Height of axis labels.
const LETTERS: f64 = 15.0;

/// An axis with its lines where we say.
struct Axis {
    low: f64,
    high: f64,
    steps: Vec<f64>,
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.low) / (self.high - self.low);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.steps.clone()
    }

    fn range(&self) -> core::ops::Range<f64> {
        self.low..self.high
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Drawn = Result<Vec<Mark>, Box<dyn Error>>;

/// The marks of the rows: a shape each, so that colour is not needed to tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Bar,
}

/// A line, or a set of bars, on every plot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Series {
    pub(super) id: RowId,
    pub(super) generator: Generator,
    pub(super) ink: Ink,
    pub(super) shape: Shape,
}

/// In the order of the scorecard.
pub(super) const SERIES: [Series; 5] = [
    series(RowId::Harness, Generator::Fio, Ink::HarnessFio, Shape::Bar),
    series(
        RowId::Harness,
        Generator::Bench,
        Ink::HarnessBench,
        Shape::Diamond,
    ),
    series(RowId::Kernel, Generator::Fio, Ink::Kernel, Shape::Square),
    series(RowId::Fuse, Generator::Fio, Ink::Fuse, Shape::Triangle),
    series(RowId::Driver, Generator::Bench, Ink::Driver, Shape::Circle),
];

const fn series(id: RowId, generator: Generator, ink: Ink, shape: Shape) -> Series {
    Series {
        id,
        generator,
        ink,
        shape,
    }
}

/// A figure of one row.
struct Point<'a> {
    series: &'a Series,
    row: &'a Row,
    /// Place of the depth on the axis.
    place: usize,
    value: f64,
}

/// I/Os per second over depths, with what the device model allows.
pub(super) fn iops(card: &Scorecard) -> String {
    let points = points(card, |_| true, |row| row.iops);
    let model = of_model(card, |point| point.iops);
    let values = points.iter().map(|point| point.value);
    let y = Scale::logarithmic(values.chain(model.iter().flatten().copied()));
    draw(card, "IOPS by queue depth, logarithmic", &y, |chart| {
        dashed(chart, &y, &model)?;
        let mut marks = Vec::new();
        for series in &SERIES {
            let own: Vec<&Point<'_>> = points
                .iter()
                .filter(|p| p.series.ink == series.ink)
                .collect();
            let line = own
                .iter()
                .map(|p| (p.place as f64, y.at(p.value)))
                .collect();
            chart.draw_series([PathElement::new::<Vec<_>, _>(line, stroke(series.ink, 2))])?;
            for point in own {
                let at = (point.place as f64, y.at(point.value));
                marks.push(mark(
                    chart,
                    point,
                    at,
                    &format!("{} IOPS", grouped(point.value)),
                )?);
            }
        }
        Ok(marks)
    })
}

/// Mean latencies with a line up to the 99th percentile, with the least that the device model makes of it.
pub(super) fn latency(card: &Scorecard) -> String {
    let paths = |series: &Series| series.id != RowId::Harness;
    let points = points(card, paths, |row| row.mean_us);
    let least = of_model(card, |point| point.mean_us);
    let p99 = points.iter().filter_map(|point| point.row.p99_us);
    let means = points.iter().map(|point| point.value);
    let y = Scale::logarithmic(means.chain(p99).chain(least.iter().flatten().copied()));
    draw(
        card,
        "Mean and 99th percentile of the latency in microseconds, logarithmic",
        &y,
        |chart| {
            dashed(chart, &y, &least)?;
            let mut marks = Vec::new();
            for point in &points {
                let beside = beside(point.series, paths);
                let x = point.place as f64 + beside * 0.2;
                let p99 = point.row.p99_us.unwrap_or(point.value);
                let (low, high) = (y.at(point.value), y.at(p99));
                let thick = stroke(point.series.ink, 3);
                chart.draw_series([
                    PathElement::new(vec![(x, low), (x, high)], thick),
                    PathElement::new(vec![(x - 0.05, high), (x + 0.05, high)], thick),
                ])?;
                let said = format!("mean {} us, p99 {} us", us(point.value), us(p99));
                marks.push(mark(chart, point, (x, low), &said)?);
            }
            Ok(marks)
        },
    )
}

/// CPU seconds per million I/Os.
pub(super) fn cpu(card: &Scorecard) -> String {
    let points = points(card, |_| true, |row| row.cpu_s_per_million);
    let y = Scale::linear(points.iter().map(|point| point.value));
    draw(card, "CPU seconds per million I/Os", &y, |chart| {
        let mut marks = Vec::new();
        for point in &points {
            let x = point.place as f64 + beside(point.series, |_| true) * 0.18;
            let corners = [(x - 0.08, y.at(point.value)), (x + 0.08, 0.0)];
            chart.draw_series([Rectangle::new(corners, point.series.ink.colour().filled())])?;
            let style = label(11.0).pos(Pos::new(HPos::Center, VPos::Bottom));
            let (left, top) = chart.backend_coord(&corners[0]);
            let (right, bottom) = chart.backend_coord(&corners[1]);
            let said = us(point.value);
            let over = chart.plotting_area().strip_coord_spec();
            let base = over.get_base_pixel();
            let middle = ((left + right) / 2 - base.0, top - 2 - base.1);
            over.draw(&Text::new(said.clone(), middle, style))?;
            marks.push(Mark {
                at: (left, top),
                size: Some((right - left, (bottom - top).max(2))),
                ..pointed(
                    point,
                    (0, 0),
                    &format!("{said} CPU seconds per million I/Os"),
                )
            });
        }
        Ok(marks)
    })
}

/// The figures that are there, in the order of [`SERIES`].
fn points(
    card: &Scorecard,
    wanted: impl Fn(&Series) -> bool,
    figure: impl Fn(&Row) -> Option<f64>,
) -> Vec<Point<'_>> {
    let mut points = Vec::new();
    for series in SERIES.iter().filter(|series| wanted(series)) {
        for (place, &qd) in card.header.load.qds.iter().enumerate() {
            let row = card.row(series.id, series.generator, qd);
            let value = row.and_then(&figure);
            if let (Some(row), Some(value)) = (row, value.filter(|v| v.is_finite() && *v > 0.0)) {
                points.push(Point {
                    series,
                    row,
                    place,
                    value,
                });
            }
        }
    }
    points
}

/// A figure of the device model at each depth.
fn of_model(card: &Scorecard, figure: fn(&ModelPoint) -> f64) -> Vec<Option<f64>> {
    let model = &card.header.model;
    let qds = &card.header.load.qds;
    qds.iter().map(|&qd| model.at(qd).map(figure)).collect()
}

/// How far a series stands from the middle of its depth, in steps.
fn beside(series: &Series, wanted: impl Fn(&Series) -> bool) -> f64 {
    let all: Vec<Ink> = SERIES.iter().filter(|s| wanted(s)).map(|s| s.ink).collect();
    let own = all.iter().position(|ink| *ink == series.ink).unwrap_or(0);
    own as f64 - (all.len() as f64 - 1.0) / 2.0
}

/// An axis of values.
struct Scale {
    low: f64,
    high: f64,
    /// Where lines and labels are.
    steps: Vec<f64>,
    logarithmic: bool,
}

impl Scale {
    /// Whole decades around the values, so that the axis needs no thought.
    fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value.log10()), high.max(value.log10()));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        let (low, high) = (low.floor(), (high.floor() + 1.0).min(18.0));
        let decades = (low as i32..=high as i32).map(f64::from);
        let few = high - low < 3.5;
        let steps = decades
            .flat_map(|decade| {
                let between = if few { &[1.0, 2.0, 5.0][..] } else { &[1.0] };
                between.iter().map(move |step: &f64| decade + step.log10())
            })
            .filter(|step| *step <= high)
            .collect();
        Self {
            low,
            high,
            steps,
            logarithmic: true,
        }
    }

    /// From zero, in round steps.
    fn linear(values: impl Iterator<Item = f64>) -> Self {
        let most = values.fold(0.0, f64::max).max(1e-6) * 1.1;
        let decade = 10_f64.powf(most.log10().floor());
        let step = [0.1, 0.2, 0.5, 1.0, 2.0]
            .into_iter()
            .map(|share| share * decade)
            .find(|step| most / step <= 6.0)
            .unwrap_or(decade * 2.0);
        let count = (most / step).ceil();
        Self {
            low: 0.0,
            high: count * step,
            steps: (0..=count as u32).map(|n| f64::from(n) * step).collect(),
            logarithmic: false,
        }
    }

    /// A value's place on the axis.
    fn at(&self, value: f64) -> f64 {
        if self.logarithmic {
            value.log10()
        } else {
            value
        }
    }

    /// A place's label.
    fn label(&self, place: f64) -> String {
        if !self.logarithmic {
            return short(place);
        }
        short(10_f64.powf(place))
    }
}

/// A round number, short: `20 k`, `0.5`.
fn short(value: f64) -> String {
    for (unit, name) in [(1e9, " G"), (1e6, " M"), (1e3, " k")] {
        if value >= unit * 0.9995 {
            return format!("{}{name}", trimmed(value / unit));
        }
    }
    trimmed(value)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Draws axes and what `content` adds; the marks that it returns can be pointed at.
fn draw(
    card: &Scorecard,
    title: &str,
    y: &Scale,
    content: impl FnOnce(&mut Chart<'_, '_>) -> Drawn,
) -> String {
    let mut drawn = String::new();
    let area = SVGBackend::with_string(&mut drawn, SIZE).into_drawing_area();
    let marks = axes(&area, card, y).and_then(|mut chart| content(&mut chart));
    let presented = area.present();
    drop(area);
    match (marks, presented) {
        (Ok(marks), Ok(())) => finish(&drawn, title, SIZE, &marks),
        // Drawing into memory does not fail; if it did, the page would say so where the plot belongs.
        (Err(error), _) => format!("<p>not drawn: {error}</p>"),
        (_, Err(error)) => format!("<p>not drawn: {error}</p>"),
    }
}

fn axes<'a, 'b>(
    area: &Area<'b>,
    card: &Scorecard,
    y: &Scale,
) -> Result<Chart<'a, 'b>, Box<dyn Error>> {
    let qds = &card.header.load.qds;
    let places: Vec<f64> = (0..qds.len()).map(|place| place as f64).collect();
    let right = qds.len().max(1) as f64 - 0.5;
    let mut chart = ChartBuilder::on(area)
        .margin(4)
        .margin_top(10)
        .margin_right(8)
        .set_all_label_area_size(0)
        .x_label_area_size(28)
        .y_label_area_size(52)
        .build_cartesian_2d(
            Axis {
                low: -0.5,
                high: right,
                steps: places,
            },
            Axis {
                low: y.low,
                high: y.high,
                steps: y.steps.clone(),
            },
        )?;
    let depth = |place: &f64| {
        let qd = qds.get(place.round().max(0.0) as usize);
        qd.map_or(String::new(), |qd| format!("QD {qd}"))
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(Ink::Grid.colour())
        .bold_line_style(Ink::Grid.colour())
        .axis_style(Ink::Grid.colour())
        .x_label_formatter(&depth)
        .y_label_formatter(&|place| y.label(*place))
        .x_label_style(label(LETTERS))
        .y_label_style(label(LETTERS))
        .draw()?;
    Ok(chart)
}

fn label(height: f64) -> TextStyle<'static> {
    const COLOUR: RGBColor = Ink::Text.colour();
    TextStyle::from(("sans-serif", height).into_font()).color(&COLOUR)
}

fn stroke(ink: Ink, width: u32) -> ShapeStyle {
    ink.colour().stroke_width(width)
}

/// The device model's line.
fn dashed(
    chart: &mut Chart<'_, '_>,
    y: &Scale,
    values: &[Option<f64>],
) -> Result<(), Box<dyn Error>> {
    let mut line: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .filter_map(|(place, value)| value.map(|value| (place as f64, y.at(value))))
        .collect();
    if let (Some(&first), Some(&last)) = (line.first(), line.last()) {
        line.insert(0, (first.0 - 0.45, first.1));
        line.push((last.0 + 0.45, last.1));
    }
    let style = stroke(Ink::Model, 2);
    chart.draw_series(DashedLineSeries::new(line, 6, 5, style))?;
    Ok(())
}

/// Draws a series' shape at a point and returns what can be pointed at there.
fn mark(
    chart: &mut Chart<'_, '_>,
    point: &Point<'_>,
    at: (f64, f64),
    said: &str,
) -> Result<Mark, Box<dyn Error>> {
    let pixel = chart.backend_coord(&at);
    let area = chart.plotting_area().strip_coord_spec();
    let base = area.get_base_pixel();
    let (x, y) = (pixel.0 - base.0, pixel.1 - base.1);
    let fill = point.series.ink.colour().filled();
    let outline = |offsets: &[(i32, i32)]| {
        Polygon::new(
            offsets
                .iter()
                .map(|(dx, dy)| (x + dx, y + dy))
                .collect::<Vec<_>>(),
            fill,
        )
    };
    match point.series.shape {
        Shape::Circle => area.draw(&Circle::new((x, y), 5, fill))?,
        Shape::Square => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], fill))?,
        Shape::Triangle => area.draw(&outline(&[(0, -6), (6, 5), (-6, 5)]))?,
        Shape::Diamond => area.draw(&outline(&[(0, -5), (5, 0), (0, 5), (-5, 0)]))?,
        Shape::Bar => area.draw(&Rectangle::new([(x - 5, y - 2), (x + 5, y + 2)], fill))?,
    }
    Ok(pointed(point, pixel, said))
}

fn pointed(point: &Point<'_>, at: (i32, i32), said: &str) -> Mark {
    Mark {
        row: point.series.id.name(),
        qd: point.row.qd,
        title: format!("{}, QD {}: {said}", point.row.label, point.row.qd),
        at,
        size: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_hold_their_values_and_label_them_roundly() {
        let scale = Scale::logarithmic([19_000.0, 70_000.0].into_iter());
        assert_eq!((scale.low, scale.high), (4.0, 5.0));
        let labels: Vec<String> = scale.steps.iter().map(|step| scale.label(*step)).collect();
        assert_eq!(labels, ["10 k", "20 k", "50 k", "100 k"]);
        for most in [0.003, 0.9, 7.0, 92.0, 1234.0] {
            let scale = Scale::linear([most].into_iter());
            assert!(scale.high >= most && scale.high <= most * 1.7, "{most}");
            assert!(
                (3..=8).contains(&scale.steps.len()),
                "{most}: {:?}",
                scale.steps
            );
        }
        // Nothing to show is no reason to panic.
        Scale::logarithmic([0.0, f64::NAN].into_iter());
        Scale::linear([].into_iter());
    }
}
