/*
 * Text functions that pages share with terminals and logs: escaping of untrusted texts, amounts and command lines.
 * These files import nothing, so that pages can load them.
 */
export { printable } from '../../printable.ts';
export { age, bytes, day, isNearlyFull, milliseconds } from '../../text/amounts.ts';
export { commandLine } from '../../text/command-line.ts';
