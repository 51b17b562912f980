package io.fermata.session.journal;

/** What {@link JournalSerializer} writes: entries of journals, and snapshots. */
interface Journaled {}
