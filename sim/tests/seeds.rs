//! The simulator on trial: clean seeds stay clean, planted bugs are seen, one seed is one run.

use std::process::{Command, Output};

use sim::{Alarm, CANARY_PLANT, CANARY_SEED, Failure, Options, Plant, Summary};

/// Seeds of the ordinary test run. The night runs ten thousand.
const SEEDS: u64 = 300;

fn run(seed: u64, plant: Option<Plant>) -> Result<Summary, Failure> {
    let options = Options {
        plant,
        listener: None,
    };
    sim::run(seed, options)
}

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(arguments)
        .output()
        .expect("the program was built for this test")
}

#[test]
fn a_few_hundred_seeds_are_clean() {
    for seed in 0..SEEDS {
        if let Err(failure) = run(seed, None) {
            panic!("{failure}");
        }
    }
}

#[test]
fn every_seed_that_ever_failed_is_clean() {
    let kept = sim::kept();
    assert!(!kept.is_empty(), "seeds.txt keeps at least the first one");
    for kept in kept {
        if let Err(failure) = run(kept.seed, None) {
            panic!("{failure}\nits story: {}", kept.story);
        }
    }
}

#[test]
fn the_oracle_sees_the_canary() {
    let failure = run(CANARY_SEED, Some(CANARY_PLANT)).expect_err("the canary must fail");
    assert_eq!(failure.alarm, Alarm::Oracle, "{failure}");
    assert!(
        run(CANARY_SEED, None).is_ok(),
        "it is its bug that fails it"
    );
}

#[test]
fn a_planted_bug_is_found_and_its_seed_finds_it_again() {
    for plant in [Plant::LostWrite, Plant::ShiftedRead] {
        let found = (0..100).find_map(|seed| run(seed, Some(plant)).err());
        let failure = found.expect("a hundred seeds find a bug that lies in 2 of 100 commands");
        assert_eq!(failure.alarm, Alarm::Oracle, "{failure}");
        let again = run(failure.seed, Some(plant)).expect_err("it failed before");
        assert_eq!(failure.to_string(), again.to_string());
    }
}

#[test]
fn the_same_seed_is_the_same_run_whatever_the_addresses_and_the_time() {
    for seed in 0..20 {
        let first = run(seed, None);
        // Between the two: other addresses, and real time.
        let moved = vec![0_u8; 3 << 20];
        let second = std::thread::scope(|scope| scope.spawn(|| run(seed, None)).join());
        drop(moved);
        let (first, second) = (
            first.expect("clean"),
            second.expect("no panic").expect("clean"),
        );
        assert_eq!(first, second);
    }
    let hashes: std::collections::BTreeSet<u64> = (0..20)
        .map(|seed| run(seed, None).expect("clean").hash)
        .collect();
    assert_eq!(hashes.len(), 20, "different seeds are different runs");
}

#[test]
fn two_processes_tell_the_same_trace_of_a_seed() {
    let [first, second] = [(); 2].map(|()| program(&["--seed", "7"]));
    assert_eq!(first.status.code(), Some(0));
    assert!(first.stdout.len() > 1000, "a full trace");
    assert_eq!(first.stdout, second.stdout);
}

#[test]
fn the_program_leaves_with_the_codes_that_it_promises() {
    let clean = program(&["--seeds", "3", "--from", "5"]);
    assert_eq!(clean.status.code(), Some(0));
    let text = String::from_utf8_lossy(&clean.stdout).into_owned();
    assert!(text.contains("3 seeds clean (5 to 7)"), "{text}");

    let canary = program(&["--canary"]);
    assert_eq!(canary.status.code(), Some(0));
    let text = String::from_utf8_lossy(&canary.stdout).into_owned();
    assert!(text.contains("the canary is red"), "{text}");

    let seed = CANARY_SEED.to_string();
    let failing = program(&["--seed", &seed, "--plant", "lost-write"]);
    assert_eq!(failing.status.code(), Some(1));
    let text = String::from_utf8_lossy(&failing.stdout).into_owned();
    assert!(
        text.contains(&format!("-- --seed {seed} --plant lost-write")),
        "{text}"
    );

    for wrong in [
        ["--plant", "rust"].as_slice(),
        &["--seeds", "0"],
        &["--canary", "--seed", "1"],
        &["--unknown"],
    ] {
        assert_eq!(program(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn the_search_for_a_planted_bug_prints_the_seed_and_the_command_that_replays_it() {
    let search = program(&["--plant", "shifted-read"]);
    assert_eq!(search.status.code(), Some(0));
    let text = String::from_utf8_lossy(&search.stdout).into_owned();
    let (_, replay) = text
        .split_once("--bin sim -- ")
        .expect("the replay command");
    let arguments: Vec<&str> = replay.lines().next().unwrap_or("").split(' ').collect();
    let again = program(&arguments);
    assert_eq!(again.status.code(), Some(1), "{arguments:?}");
}
