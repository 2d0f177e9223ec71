import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/*
 * For `node --import`: writes the modules that have been loaded, one line each, into the file that
 * WEIR_TEST_MODULES names when the process ends.
 */

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const file = process.env['WEIR_TEST_MODULES'];
if (file !== undefined) process.once('exit', () => writeFileSync(file, loaded.join('\n')));
