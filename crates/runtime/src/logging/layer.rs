//! The layer that turns `tracing` events into log lines.

use super::{
    Format, Level, Options, Sink, VModule,
    fields::{Fields, Pairs},
    json,
    level::is_dependency,
    local,
    sink::Stream,
    text,
};
use jiff::{Timestamp, tz::TimeZone};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use tracing::{
    Event, Metadata, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    layer::{Context, Layer},
    registry::{LookupSpan, Scope},
};

/// A [`Layer`] that writes klog's lines.
#[derive(Debug)]
pub struct Klog {
    format: Format,
    verbosity: Handle,
    vmodule: VModule,
    sink: Arc<Sink>,
    process: u32,
    zone: TimeZone,
}

/// Changes the verbosity of a running process. Clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Handle(Arc<AtomicU32>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Info,
    Warning,
    Error,
}

/// Where an event comes from, and how important it is.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) severity: Severity,
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) v: u64,
}

impl Handle {
    /// The present verbosity.
    pub fn verbosity(&self) -> Level {
        Level(self.0.load(Ordering::Relaxed))
    }

    /// Sets the verbosity of the whole process, except for files that `--vmodule` gives their own.
    pub fn set_verbosity(&self, Level(verbosity): Level) {
        self.0.store(verbosity, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
    }
}

impl Severity {
    pub(super) fn letter(self) -> char {
        match self {
            Self::Info => 'I',
            Self::Warning => 'W',
            Self::Error => 'E',
        }
    }

    fn stream(self) -> Stream {
        match self {
            Self::Info => Stream::Info,
            Self::Warning | Self::Error => Stream::Error,
        }
    }

    fn of(level: tracing::Level) -> Self {
        match level {
            tracing::Level::ERROR => Self::Error,
            tracing::Level::WARN => Self::Warning,
            _ => Self::Info,
        }
    }
}

impl Klog {
    /// A layer that writes to the sink, and the handle that changes its verbosity.
    #[must_use]
    pub fn new(options: &Options, sink: Arc<Sink>) -> (Self, Handle) {
        let verbosity = Handle(Arc::new(AtomicU32::new(options.verbosity.0)));
        let layer = Self {
            format: options.format,
            verbosity: verbosity.clone(),
            vmodule: options.vmodule.clone(),
            sink,
            process: std::process::id(),
            zone: local::zone(),
        };
        (layer, verbosity)
    }

    fn verbosity(&self, place: &Metadata<'_>) -> Level {
        place
            .file()
            .and_then(|file| self.vmodule.find(file))
            .unwrap_or_else(|| self.verbosity.verbosity())
    }

    /// Spans carry context for whatever is logged inside of them, so ours are always wanted.
    fn wants(&self, place: &Metadata<'_>) -> bool {
        let ours = place.is_span() && !is_dependency(place.target());
        ours || Level::of(place).is_some_and(|needed| needed <= self.verbosity(place))
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Klog {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Spans of any level carry context, so nothing can be ruled out by its level alone.
        Some(LevelFilter::TRACE)
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields.pairs);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(pairs) = span.extensions_mut().get_mut::<Pairs>()
        {
            pairs.extend(&fields.pairs);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let place = Place::of(event.metadata(), fields.v);
        if place.v > self.verbosity(event.metadata()).0.into() {
            return;
        }
        let around = around(event, &context);
        let now = Timestamp::now();
        let line = match self.format {
            Format::Text => text::line(&now.to_zoned(self.zone.clone()), self.process, &place, &around, &fields),
            Format::Json => json::line(now, &place, &around, &fields),
        };
        self.sink.write(place.severity.stream(), &line);
    }
}

impl<'a> Place<'a> {
    fn of(metadata: &'a Metadata<'_>, v: Option<u64>) -> Self {
        Self {
            severity: Severity::of(*metadata.level()),
            file: metadata.file().unwrap_or("???"),
            line: metadata.line().unwrap_or(1),
            v: v.unwrap_or_else(|| Level::of(metadata).unwrap_or_default().0.into()),
        }
    }
}

/// What the spans around an event say, the outermost first.
fn around<S: Subscriber + for<'l> LookupSpan<'l>>(event: &Event<'_>, context: &Context<'_, S>) -> Pairs {
    let mut around = Pairs::default();
    for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
        if let Some(pairs) = span.extensions().get::<Pairs>() {
            around.extend(pairs);
        }
    }
    around
}
