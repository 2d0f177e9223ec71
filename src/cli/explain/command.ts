import { explainerOf, explainFlow } from '../../explain/explain-flow.ts';
import type { LoadedRoutes } from '../../explain/load-routes.ts';
import { explainText } from '../../explain/text.ts';
import { printable, printableJson } from '../../printable.ts';
import { reportErrors, type CommandIo } from '../command.ts';
import { EXPLAIN_HELP, parseExplain, type ExplainArguments } from './arguments.ts';
import { withRoutes } from './with-routes.ts';

/**
 * `weir explain`: prints where a configuration routes a flow, and why. Resolves with the exit
 * status: 1 for an invalid configuration.
 * @throws {UsageError}
 */
export async function explainCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const asked = parseExplain(argv);
  if (asked.kind === 'help') {
    io.stdout.write(EXPLAIN_HELP);
    return 0;
  }
  if (asked.kind === 'batch') {
    return reportErrors('explain', io, async () =>
      (await import('./batch-command.ts')).batchCommand(asked, io),
    );
  }
  const status = await withRoutes(asked.config, async (routes) => {
    await answer(asked, routes, io);
    return 0;
  });
  return status ?? 1;
}

async function answer(asked: ExplainArguments, routes: LoadedRoutes, io: CommandIo): Promise<void> {
  const explained = explainFlow(asked, routes, explainerOf(routes));
  const notes = explained.notes.map(({ text, option }) =>
    option === undefined ? text : `${text}; see --${option}`,
  );
  if (asked.json) {
    io.stdout.write(`${printableJson(explained.answer)}
`);
    io.stderr.write(
      notes
        .map(
          (note) => `weir explain: ${printable(note)}
`,
        )
        .join(''),
    );
  } else {
    io.stdout.write(explainText(routes, { ...explained, notes }));
  }
}
