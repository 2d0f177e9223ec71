import { setFlagsFromString } from 'node:v8';

/**
 * Flags of V8 that put off its last compiler, TurboFan, which by default compiles a function after 3,000 calls and
 * inlines up to 920 bytes of bytecode into it. It takes 5 to 40 ms a function on a thread beside, more than a second of
 * processor time for what a connection needs, and code of Maglev, the compiler before it, is a tenth slower: TurboFan
 * pays after some ten thousand connections only. Loops count as calls, so what moves bytes is compiled early.
 */
const FLAGS = [
  '--invocation-count-for-turbofan=30000',
  '--max-inlined-bytecode-size-cumulative=300',
] as const;

/**
 * Makes V8 compile a function by its last compiler only when it is called often enough for that to pay. For after the
 * start: code that V8 has compiled into Node's own files is valid for the default flags alone.
 */
export function compileSparingly(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}
