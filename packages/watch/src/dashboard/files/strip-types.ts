import { stripTypeScriptTypes } from 'node:module';

/**
 * Strips the types of a TypeScript module for browsers; lines and columns stay. Node warns at the first call that the
 * function is experimental: this program pins its Node, so that one warning is suppressed.
 */
export function stripTypes(source: string): string {
  // oxlint-disable-next-line typescript/unbound-method -- called with its process again, and put back
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!String(warning).startsWith('stripTypeScriptTypes is ')) {
      Reflect.apply(emitWarning, process, [warning, ...rest]);
    }
  };
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
