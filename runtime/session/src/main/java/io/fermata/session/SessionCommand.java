package io.fermata.session;

/** What a session actor is told: by its shell, or by those it talks with. */
sealed interface SessionCommand permits ShellCommand, RunCommand, ThreadCommand {}
