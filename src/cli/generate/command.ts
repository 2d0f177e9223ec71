import { join, resolve } from 'node:path';
import { selfSigned } from '../../crypto/self-signed.ts';
import { SystemRandomSource, type RandomSource } from '../../crypto/random-source.ts';
import { printable, printableJson, quoted } from '../../printable.ts';
import { findMethod, METHODS, type MethodName } from '../../protocols/shadowsocks/methods.ts';
import { examineCertificate } from '../../share/certificate.ts';
import { loadForms } from '../../protocols/registry.ts';
import { shareLink } from '../../share/forms.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { UsageError } from '../../errors.ts';
import { makeFolder, writeFiles, type OutputFile } from '../write-files.ts';
import {
  GENERATE_HELP,
  parseGenerate,
  type FileArguments,
  type Generated,
  type ServerArguments,
} from './arguments.ts';
import { password, presharedKey, uuid, wireguardKeys } from '../../accounts/new-secrets.ts';
import { clientText, fileNames, serverText } from './server-files.ts';
import { plannedHost, planServer } from './server-plan.ts';

/** The output: text, or with `--json` an object. */
interface Result {
  readonly text: string;
  readonly json: object;
  /** Notes for standard error. */
  readonly notes?: readonly string[];
}

/**
 * `weir generate`. Resolves with the exit status: 1 when files cannot be written.
 * @throws {UsageError}
 */
export function generateCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { what, json } = parseGenerate(argv);
  return reportErrors('generate', io, async () => {
    const { text, json: object, notes = [] } = await generate(what, new SystemRandomSource());
    io.stdout.write(json && what.kind !== 'help' ? `${printableJson(object)}\n` : text);
    for (const note of notes) io.stderr.write(`weir generate: ${printable(note)}\n`);
    return 0;
  });
}

async function generate(what: Generated, random: RandomSource): Promise<Result> {
  switch (what.kind) {
    case 'help':
      return { text: GENERATE_HELP, json: {} };
    case 'uuid':
      return single('uuid', uuid(random));
    case 'password':
      return single('password', password(random, what.length));
    case 'psk':
      return single('password', presharedKey(random, toMethod(what.method)));
    case 'wireguard': {
      const { privateKey, publicKey, presharedKey: shared } = wireguardKeys(random);
      return {
        text: `PrivateKey = ${privateKey}\nPublicKey = ${publicKey}\nPresharedKey = ${shared}\n`,
        json: { private_key: privateKey, public_key: publicKey, preshared_key: shared },
      };
    }
    case 'certificate':
      return generateCertificate(what.names, what, random);
    case 'server':
      return generateServer(what, random);
    default:
      return what satisfies never;
  }
}

function toMethod(text: string): MethodName {
  const method = findMethod(text);
  if (method !== undefined) return method;
  throw new UsageError(
    `unknown Shadowsocks method ${quoted(text)}; the methods are ${Object.keys(METHODS).join(', ')}`,
  );
}

const single = (key: string, value: string): Result => ({
  text: `${value}\n`,
  json: { [key]: value },
});

async function generateCertificate(
  names: readonly string[],
  { days, output, force }: FileArguments,
  random: RandomSource,
): Promise<Result> {
  const { certificate, key } = selfSigned(names, days, { random, now: Date.now() });
  if (output === undefined) {
    return { text: certificate + key, json: { certificate, key } };
  }
  const files = fileNames((names[0] ?? '').replaceAll(/[*:]/g, '_'));
  return written(output, force, [
    { path: files.certificate, text: certificate, secret: false },
    { path: files.key, text: key, secret: true },
  ]);
}

async function generateServer(asked: ServerArguments, random: RandomSource): Promise<Result> {
  const { name, days, output = '.', force } = asked;
  await loadForms();
  const host = plannedHost(asked);
  const { certificate, key } = selfSigned([host], days, { random, now: Date.now() });
  const { leaf } = examineCertificate(certificate, () => []);
  const plan = planServer(asked, leaf, random);
  const files = fileNames(name);
  const folder = resolve(output);
  const result = await written(output, force, [
    { path: files.server, text: serverText(plan, folder), secret: true },
    { path: files.client, text: clientText(plan, folder), secret: true },
    ...(plan.hasTls
      ? [
          { path: files.certificate, text: certificate, secret: false },
          { path: files.key, text: key, secret: true },
        ]
      : []),
  ]);
  const links = plan.inbounds.map(({ server }) => shareLink(server));
  return {
    text: result.text,
    json: { ...result.json, links },
    notes: [
      `the server: weir --config ${join(output, files.server)}`,
      `its users and flows: weir dashboard --config ${join(output, files.server)}`,
      plan.isTrial
        ? `a client: weir --config ${join(output, files.client)}`
        : `a client, on another machine${plan.hasTls ? ` beside ${files.certificate}` : ''}: weir --config ${files.client}`,
      ...(plan.isTrial
        ? ['it is a trial on this machine: --host makes it a server for others']
        : []),
    ],
  };
}

/** Writes files into a directory, which is created if necessary. @throws {WeirError} */
async function written(
  folder: string,
  force: boolean,
  files: readonly OutputFile[],
): Promise<Result> {
  await makeFolder(folder);
  const placed = files.map((file) => ({ ...file, path: join(folder, file.path) }));
  await writeFiles(placed, force);
  const paths = placed.map(({ path }) => path);
  return {
    text: paths.map((path) => `${printable(path)}\n`).join(''),
    json: { files: paths },
  };
}
