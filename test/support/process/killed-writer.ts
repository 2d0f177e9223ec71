import { replaceFile } from '@weir/server/files';
import { watchedFiles } from '../files/watched-files.ts';

/**
 * `killed-writer.ts FILE STEP`: replaces FILE by lines of `new`, and is killed before STEP; before
 * `half`, in the middle of writing. Without STEP it replaces FILE again and again, with lines of a
 * number that grows, until it is killed.
 */
const [file = '', step] = process.argv.slice(2);

const NEW = Buffer.from('new\n'.repeat(50_000));

if (step === undefined) {
  process.stdout.write('started\n');
  for (let number = 1; ; number += 1) {
    await replaceFile(file, Buffer.from(`${number}\n`.repeat(10_000)));
  }
}

const fs = watchedFiles(async (next, created) => {
  if (next === 'write' && step === 'half') await created?.write(NEW.subarray(0, NEW.length / 2));
  if (next === step || (next === 'write' && step === 'half')) process.kill(process.pid, 'SIGKILL');
});
await replaceFile(file, NEW, fs);
