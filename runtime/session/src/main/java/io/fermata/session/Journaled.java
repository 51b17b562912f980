package io.fermata.session;

/** What {@link JournalSerializer} writes: entries of journals, and snapshots. */
interface Journaled {}
