/*
 * Text functions that pages share with terminals and logs: escaping of untrusted texts, amounts and command lines.
 * These files import nothing, so that pages can load them.
 */
export { printable } from '@weir/base/printable';
export { age, bytes, day, isNearlyFull, milliseconds } from '@weir/base/text/amounts';
export { commandLine } from '@weir/base/text/command-line';
