/** Ways in which a person breaks a line: by hand, by a shell, by an editor. */
const BREAKS: readonly ((line: string) => string)[] = [
  (line) => `${line} surplus`,
  (line) => line.replace(/"(?=[^"]*$)/, ''),
  (line) => line.replace(/= "/, '= '),
  (line) => line.replace(/"([^"]*)"/, '["$1"]'),
  (line) => line.replaceAll('"', "'").replace(/'(?=[^']*$)/, ''),
  (line) => line.replace(' = ', ' : '),
  (line) => line.replace(/(password|pass|id|secret|private_key|preshared_key) = /, '$1x = '),
  // Of a length or an alphabet that no key has, and no id. The specification has the error of a VMess id quote it, so
  // that those are left out: `inbound vmess: invalid uuid "…"`.
  (line) =>
    /security|^settings = \{ users = \[\{ id = "[^"]*" \}\] \}$/.test(line)
      ? line
      : line.replace(/"([^"]+=|[0-9a-f]{8}-[0-9a-f-]+)"/, '"$1!"'),
  (line) => `# ${line}\n]`,
];

/**
 * The document once for each line that `isSecret` and each way to break it; the rest of it is as it was.
 */
export function* brokenLines(
  text: string,
  isSecret: (line: string) => boolean,
): Generator<string, void> {
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    if (!isSecret(line)) continue;
    for (const broken of BREAKS) {
      const changed = broken(line);
      if (changed !== line) yield lines.with(at, changed).join('\n');
    }
  }
}
