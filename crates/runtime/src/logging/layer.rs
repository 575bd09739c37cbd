//! The layer that converts `tracing` events into log lines.

use super::{
    Format, Level, Options, Sink,
    fields::{Fields, Pairs},
    json,
    level::is_dependency,
    sink::Stream,
    text,
};
use jiff::Timestamp;
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
    sink: Sink,
    process: u32,
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

/// The source line and the importance of an event.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) severity: Severity,
    pub(super) file: &'a str,
    pub(super) line: u32,
    pub(super) v: u64,
}

impl Handle {
    /// The current verbosity.
    pub fn verbosity(&self) -> Level {
        Level(self.0.load(Ordering::Relaxed))
    }

    /// Sets the verbosity of the whole process.
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
    pub fn new(options: &Options, sink: Sink) -> (Self, Handle) {
        let verbosity = Handle(Arc::new(AtomicU32::new(options.verbosity.0)));
        let layer = Self {
            format: options.format,
            verbosity: verbosity.clone(),
            sink,
            process: std::process::id(),
        };
        (layer, verbosity)
    }

    /// Our spans carry the context of the events inside of them, so they are always enabled.
    fn is_enabled(&self, event: &Metadata<'_>) -> bool {
        let own_span = event.is_span() && !is_dependency(event.target());
        own_span || Level::of(event).is_some_and(|needed| needed <= self.verbosity.verbosity())
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for Klog {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.is_enabled(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        // Spans of every level carry context, so no level can be disabled as a whole.
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
        if place.v > self.verbosity.verbosity().0.into() {
            return;
        }
        let around = around(event, &context);
        let now = Timestamp::now();
        let line = match self.format {
            Format::Text => text::line(now, self.process, &place, &around, &fields),
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

/// The fields of the spans around an event, the outermost first.
fn around<S: Subscriber + for<'l> LookupSpan<'l>>(event: &Event<'_>, context: &Context<'_, S>) -> Pairs {
    let mut around = Pairs::default();
    for span in context.event_scope(event).into_iter().flat_map(Scope::from_root) {
        if let Some(pairs) = span.extensions().get::<Pairs>() {
            around.extend(pairs);
        }
    }
    around
}
