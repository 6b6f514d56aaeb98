/** How long a scenario waits for what has to happen, in ms: a deadline costs nothing when it passes, so it is far above what a busy machine needs. */
export const PATIENCE = 120_000;
