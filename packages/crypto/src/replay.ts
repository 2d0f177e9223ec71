/** Filters and windows against replays. */
export { ReplayFilter } from './replay/replay-filter.ts';
export { ReplayWindow } from './replay/replay-window.ts';
