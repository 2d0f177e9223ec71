/*
 * What pages share with terminals and logs: which characters of foreign texts are escaped, how amounts and command
 * lines are written. These files import nothing, so that pages can load them.
 */
export { printable } from '../../printable.ts';
export { age, bytes, day, isNearlyFull, milliseconds } from '../../text/amounts.ts';
export { commandLine } from '../../text/command-line.ts';
