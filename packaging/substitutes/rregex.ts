import { RRegexSet as CompiledSet, initSync } from '../../node_modules/rregex/lib/web.js';
import { readAsset } from './package/assets.ts';

/*
 * Stands for rregex in bundles. Its own entry for Node compiles a megabyte of WebAssembly when it is
 * imported; here that waits for the first pattern, which most configurations do not have.
 */

let ready = false;

function prepare(): void {
  if (ready) return;
  initSync({ module: readAsset('rregex.wasm') });
  ready = true;
}

export const RRegexSet = new Proxy(CompiledSet, {
  construct(target, parameters: ConstructorParameters<typeof CompiledSet>) {
    prepare();
    return new target(...parameters);
  },
});
