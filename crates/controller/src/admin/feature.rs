//! Get Features and Set Features: what holds for all features; `features.rs` has what differs
//! [NVMe Base 2.0 §5.15, §5.27].

use spec::NamespaceId;
use spec::nvme::feature::FeatureCapabilities;
use spec::nvme::{GetFeatures, Select, SetFeatures, Status, SubmissionEntry};

use crate::features::{Feature, Features};
use crate::{Answer, Controller};

/// Set Features.
pub(super) fn set(controller: &mut Controller, entry: &SubmissionEntry) -> Result<Answer, Status> {
    let command = SetFeatures::parse(entry);
    let feature = Features::find(command.fid).ok_or(Status::INVALID_FIELD)?;
    if command.save {
        return Err(Status::FEATURE_NOT_SAVEABLE);
    }
    if feature.per_namespace {
        if entry.nsid() != NamespaceId::BROADCAST {
            controller.namespaces.active(entry.nsid())?;
        }
    } else if ![NamespaceId::NONE, NamespaceId::BROADCAST].contains(&entry.nsid()) {
        controller.namespaces.active(entry.nsid())?;
        return Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC);
    }
    let result = (feature.set)(controller, entry)?;
    Ok(Answer::DoneWith(Status::SUCCESS, result))
}

/// Get Features. As nothing can be saved, a saved value is the default value.
pub(super) fn get(controller: &mut Controller, entry: &SubmissionEntry) -> Result<Answer, Status> {
    let command = GetFeatures::parse(entry);
    let feature = Features::find(command.fid).ok_or(Status::INVALID_FIELD)?;
    if feature.per_namespace {
        controller.namespaces.active(entry.nsid())?;
    }
    let value = match command.select {
        Select::Current => (feature.get)(&controller.features, entry)?,
        Select::Default | Select::Saved => {
            (feature.get)(&Features::new(&controller.config), entry)?
        }
        Select::Supported => capabilities(feature).bits(),
        Select::Reserved(_) => return Err(Status::INVALID_FIELD),
    };
    Ok(Answer::DoneWith(Status::SUCCESS, value))
}

fn capabilities(feature: &Feature) -> FeatureCapabilities {
    FeatureCapabilities::default()
        .with_changeable(true)
        .with_namespace_specific(feature.per_namespace)
}
