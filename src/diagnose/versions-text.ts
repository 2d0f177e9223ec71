import { readFile } from 'node:fs/promises';
import { arch, availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { datedNode, securityOf } from '../platform/process/node-releases.ts';
import { buildText, type Build } from '../platform/process/build.ts';
import { ownBuild } from '../platform/process/own-build.ts';
import { bytes } from '../text/amounts.ts';
import { printable } from '../printable.ts';
import { VERSION } from '../version.ts';

/** Versions that a running Weir reports. */
export interface RunningVersions {
  readonly weir: string | undefined;
  readonly build: Build | undefined;
  /** `process.versions` of the running Weir. */
  readonly versions: Readonly<Record<string, string>> | undefined;
}

/** Versions of the programs, and of the machine without its name. */
export async function versionsText({ weir, build, versions }: RunningVersions): Promise<string> {
  const { node, openssl, v8, uv } = versions ?? process.versions;
  const [processor] = cpus();
  const lines = [
    `weir: ${weir ?? 'none was asked'} (running), ${VERSION} (this command)`,
    `commit: ${commitOf(build)} (running), ${commitOf(ownBuild())} (this command)`,
    `node: ${datedNode(node)}, v8 ${v8}, libuv ${uv}${versions ? '' : ' (this command)'}`,
    securityOf(node),
    `openssl: ${openssl}`,
    `libc: ${libc()}`,
    `kernel: ${type()} ${release()}, ${arch()}`,
    `distribution: ${await distribution()}`,
    `processor: ${processor?.model ?? 'unknown'}, ${cpus().length} cores, ${availableParallelism()} for Weir`,
    `memory: ${bytes(totalmem())}`,
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

const commitOf = (build: Build | undefined): string => (build ? buildText(build) : 'not known');

/** Version of the C library of this process, which is that of the machine. */
function libc(): string {
  // By default the report resolves every address of the machine, which may take long.
  const report = Object.assign(process.report, { excludeNetwork: true, excludeEnv: true });
  const { header } = report.getReport() as { readonly header?: Readonly<Record<string, unknown>> };
  const version = header?.['glibcVersionRuntime'];
  return typeof version === 'string' ? `glibc ${version}` : 'not glibc';
}

async function distribution(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(text)?.[1] ?? 'unknown';
}
