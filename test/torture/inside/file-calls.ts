import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { getSystemErrorMap } from 'node:util';
import { FILE_CALLS, type Fault } from '../faults.ts';
import { errnoOf, type Trigger } from './trigger.ts';

type Step = (...values: never[]) => Promise<unknown>;
type Steps = Record<string, Step>;

/** Replaces functions of `node:fs/promises` so that those on files below `folder` can fail. */
export function failFileCalls(trigger: Trigger, folder: string): void {
  const functions = fs as unknown as Steps;
  const isMeant = (path: unknown): boolean => String(path).startsWith(folder);
  for (const call of Object.keys(FILE_CALLS)) {
    const [kind, name = ''] = call.split('.');
    const step = kind === 'fs' ? functions[name] : undefined;
    if (!step) continue;
    functions[name] = async (...values) => {
      if (!isMeant(values[0])) return step(...values);
      const fault = trigger.count(call);
      if (fault !== undefined) throw failure(name, fault, String(values[0]));
      const result = await step(...values);
      if (name === 'open') failFileSteps(trigger, result as FileHandle, String(values[0]));
      return result;
    };
  }
  // What modules import by name from `node:fs/promises` are copies of its properties.
  syncBuiltinESMExports();
}

/** Replaces the methods of one open file. */
function failFileSteps(trigger: Trigger, file: FileHandle, path: string): void {
  const methods = file as unknown as Steps;
  for (const call of Object.keys(FILE_CALLS)) {
    const [kind, name = ''] = call.split('.');
    const step = kind === 'file' ? methods[name] : undefined;
    if (!step) continue;
    const isClose = name === 'close';
    const replaced: Step = async (...values) => {
      const fault = trigger.count(call);
      if (fault === undefined) return step.apply(file, values);
      if (fault === 'short') {
        // The disk is full after half of the bytes.
        const bytes = Buffer.from(values[0] as unknown as Uint8Array);
        await file.write(bytes.subarray(0, bytes.length / 2));
        throw failure(name, fault, path);
      }
      // A descriptor is closed whatever close(2) returns.
      if (isClose) await step.apply(file, values);
      throw failure(name, fault, path);
    };
    methods[name] = replaced;
    if (isClose) file[Symbol.asyncDispose] = replaced as unknown as () => Promise<void>;
  }
}

/** An error as Node makes it. */
function failure(syscall: string, fault: Fault, path: string): Error {
  const code = fault === 'short' ? 'ENOSPC' : fault;
  const errno = -errnoOf(code);
  const text = getSystemErrorMap().get(errno)?.[1] ?? code;
  const error = new Error(`${code}: ${text}, ${syscall} '${path}'`);
  return Object.assign(error, { code, errno, syscall, path });
}
