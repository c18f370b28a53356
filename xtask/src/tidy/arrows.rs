//! Arrows between crates point only where the table allows.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::config::{Arrows, CONFIG_FILE};
use crate::workshop::{Package, room_of};

/// Checks every dependency of every package that is no dev-dependency.
pub(super) fn check(packages: &[Package], arrows: &Arrows) -> Vec<Problem> {
    let mut problems = check_table(arrows);
    for package in packages {
        let manifest = package.manifest_path.display().to_string();
        let room = package.room();
        let Some(allowed) = allowed(&room, arrows) else {
            let what = format!("'{room}' is no room of the design; add a row to {CONFIG_FILE}");
            problems.push(Problem::of_file(&manifest, what));
            continue;
        };
        for used in rooms_used(package) {
            if !allowed.permits(&used) {
                let what = format!("'{room}' must not use '{used}' ({allowed})");
                problems.push(Problem::of_file(&manifest, what));
            }
        }
    }
    problems
}

fn rooms_used(package: &Package) -> BTreeSet<String> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind.as_deref() != Some("dev"))
        .filter_map(|dependency| dependency.path.as_deref().map(room_of))
        .collect()
}

/// What one room may use.
enum Allowed<'a> {
    Only(BTreeSet<&'a str>),
    AllBut(&'a [String]),
}

impl Allowed<'_> {
    fn permits(&self, room: &str) -> bool {
        match self {
            Self::Only(rooms) => rooms.contains(room),
            Self::AllBut(rooms) => !rooms.iter().any(|never| never == room),
        }
    }
}

impl std::fmt::Display for Allowed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Only(rooms) if rooms.is_empty() => write!(f, "it may use nothing"),
            Self::Only(rooms) => {
                let rooms: Vec<&str> = rooms.iter().copied().collect();
                write!(f, "it may use {}", rooms.join(", "))
            }
            Self::AllBut(rooms) => write!(f, "it may use all but {}", rooms.join(", ")),
        }
    }
}

fn allowed<'a>(room: &str, arrows: &'a Arrows) -> Option<Allowed<'a>> {
    if arrows.workshops.names.iter().any(|name| name == room) {
        return Some(Allowed::AllBut(&arrows.workshops.never));
    }
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = arrows.rooms.get(room)?.iter().map(String::as_str).collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(
                arrows
                    .rooms
                    .get(next)
                    .into_iter()
                    .flatten()
                    .map(String::as_str),
            );
        }
    }
    Some(Allowed::Only(reached))
}

/// Rows that name no room, and rooms that reach themselves.
fn check_table(arrows: &Arrows) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (room, named) in &arrows.rooms {
        for name in named
            .iter()
            .filter(|name| !arrows.rooms.contains_key(*name))
        {
            problems.push(Problem::of_file(
                CONFIG_FILE,
                format!("row '{room}' names '{name}'"),
            ));
        }
        if allowed(room, arrows).is_some_and(|allowed| allowed.permits(room)) {
            problems.push(Problem::of_file(
                CONFIG_FILE,
                format!("'{room}' may use itself"),
            ));
        }
    }
    problems
}

/// The registry's packages that are used, with who uses them.
pub(super) fn registry_packages(packages: &[Package]) -> BTreeMap<&str, &str> {
    let mut used = BTreeMap::new();
    for package in packages {
        for dependency in package
            .dependencies
            .iter()
            .filter(|used| used.path.is_none())
        {
            used.entry(dependency.name.as_str())
                .or_insert(package.name.as_str());
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;
    use crate::workshop::Dependency;

    fn package(room: &str, uses: &[&str], kind: Option<&str>) -> Package {
        let folder = |room: &&str| -> std::path::PathBuf {
            match *room {
                "sim" | "xtask" => (*room).into(),
                _ => format!("crates/{room}").into(),
            }
        };
        let dependency = |room: &&str| Dependency {
            name: format!("dpe-{room}"),
            kind: kind.map(str::to_owned),
            path: Some(folder(room)),
        };
        Package {
            name: room.to_owned(),
            manifest_path: folder(&room).join("Cargo.toml"),
            dependencies: uses.iter().map(dependency).collect(),
            targets: Vec::new(),
        }
    }

    fn problems(room: &str, uses: &[&str]) -> usize {
        check(&[package(room, uses, None)], &Config::in_use().arrows).len()
    }

    #[test]
    fn what_a_row_names_and_what_that_may_use_is_allowed() {
        assert_eq!(problems("mem", &["ring"]), 0);
        assert_eq!(problems("controller", &["media", "spec", "mem", "ring"]), 0);
        assert_eq!(problems("app", &["bench", "local", "spec"]), 0);
    }

    #[test]
    fn an_arrow_that_points_up_or_sideways_is_refused() {
        assert_eq!(problems("ring", &["mem"]), 1);
        assert_eq!(problems("driver", &["controller"]), 1);
        assert_eq!(problems("controller", &["driver", "local"]), 2);
    }

    #[test]
    fn workshops_use_any_room_but_the_program() {
        assert_eq!(problems("sim", &["local", "controller"]), 0);
        assert_eq!(problems("sim", &["app"]), 1);
    }

    #[test]
    fn tests_are_free() {
        let package = package("spec", &["mem"], Some("dev"));
        assert!(check(&[package], &Config::in_use().arrows).is_empty());
    }

    #[test]
    fn a_room_without_a_row_is_refused() {
        assert_eq!(problems("utils", &[]), 1);
    }

    #[test]
    fn a_table_with_a_circle_or_an_unknown_name_is_refused() {
        let row = |name: &str, uses: &[&str]| {
            (
                name.to_owned(),
                uses.iter().map(|name| (*name).to_owned()).collect(),
            )
        };
        let rooms = BTreeMap::from([row("a", &["b"]), row("b", &["a"]), row("c", &["d"])]);
        assert_eq!(
            check(
                &[],
                &Arrows {
                    rooms,
                    ..Arrows::default()
                }
            )
            .len(),
            3
        );
    }
}
