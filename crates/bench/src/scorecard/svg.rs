//! What plotters draws, made fit for a page: colours that follow the page's theme, no size of its own, and marks with titles.

use core::fmt::Write as _;

use plotters::style::RGBColor;

/// A colour by what it stands for. On the page each is a CSS variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Text and axes.
    Text,
    /// Lines behind everything.
    Grid,
    /// The kernel's row.
    Kernel,
    /// The FUSE row.
    Fuse,
    /// The driver's row.
    Driver,
    /// The harness of fio's rows.
    HarnessFio,
    /// The harness of the driver's row.
    HarnessBench,
    /// The device model.
    Model,
}

impl Ink {
    const ALL: [(Self, &'static str); 8] = [
        (Self::Text, "ink"),
        (Self::Grid, "grid"),
        (Self::Kernel, "kernel"),
        (Self::Fuse, "fuse"),
        (Self::Driver, "driver"),
        (Self::HarnessFio, "harness-fio"),
        (Self::HarnessBench, "harness-bench"),
        (Self::Model, "model"),
    ];

    /// The CSS variable's name.
    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The colour to draw with, which [`finish`] turns into the variable.
    pub(super) const fn colour(self) -> RGBColor {
        RGBColor(self as u8 + 1, 0, 0)
    }
}

/// A thing on a plot that stands for a measured figure.
#[derive(Debug, Clone)]
pub(super) struct Mark {
    /// The kind of row, as in the JSON form.
    pub(super) row: &'static str,
    /// The depth.
    pub(super) qd: u32,
    /// What is said when it is pointed at.
    pub(super) title: String,
    /// Middle or, for bars, upper left corner, in the plot's own units.
    pub(super) at: (i32, i32),
    /// Width and height of a bar; absent for a point.
    pub(super) size: Option<(i32, i32)>,
}

/// Makes plotters' SVG fit for a page.
pub(super) fn finish(drawn: &str, label: &str, size: (u32, u32), marks: &[Mark]) -> String {
    // plotters begins with one svg tag, which fixes a size and names a namespace by an address.
    let inside = drawn
        .split_once("<svg")
        .and_then(|(_, rest)| rest.split_once('>'))
        .map_or("", |(_, inside)| inside);
    let mut text = format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        size.0,
        size.1,
        escape(label)
    );
    let mut inside = inside.trim_end().trim_end_matches("</svg>").to_owned();
    for (ink, name) in Ink::ALL {
        let RGBColor(red, green, blue) = ink.colour();
        let drawn = format!("\"#{red:02X}{green:02X}{blue:02X}\"");
        inside = inside.replace(&drawn, &format!("\"var(--{name})\""));
    }
    text.push_str(&inside);
    for mark in marks {
        let _ = write!(
            text,
            "<g class=\"mark\" data-row=\"{}\" data-qd=\"{}\"><title>{}</title>",
            mark.row,
            mark.qd,
            escape(&mark.title)
        );
        let (x, y) = mark.at;
        let _ = match mark.size {
            None => write!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"9\"/></g>"),
            Some((width, height)) => write!(
                text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></g>"
            ),
        };
    }
    text.push_str("</svg>");
    text
}

/// Text that means nothing to HTML, in elements and in attributes.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ink_has_its_own_colour_and_name() {
        for (place, (ink, name)) in Ink::ALL.into_iter().enumerate() {
            assert_eq!(ink as usize, place);
            assert_eq!(ink.name(), name);
        }
    }

    #[test]
    fn colours_become_variables_and_addresses_go() {
        let drawn = "<svg width=\"10\" height=\"10\" xmlns=\"http://x\">\n<line stroke=\"#030000\"/>\n</svg>\n";
        let done = finish(drawn, "a & b", (10, 10), &[]);
        assert!(done.contains("stroke=\"var(--kernel)\""), "{done}");
        assert!(
            done.contains("a &amp; b") && !done.contains("http"),
            "{done}"
        );
    }
}
