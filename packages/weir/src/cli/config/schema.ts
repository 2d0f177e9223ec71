import { configSchema } from '@weir/config/json-schema';
import { expectOperands, parseOptions, type CommandIo } from '../command.ts';
import { SCHEMA } from './specs.ts';

const SCHEMA_HELP = `Usage: weir schema

Prints a JSON Schema of the configuration file, for editors. With

    #:schema ./weir.schema.json

as the first line of a configuration, Tombi and Taplo complete its keys and mark mistakes.
`;

/** `weir schema`: prints the JSON Schema of the configuration. Resolves with the exit status. */
export async function schemaCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseOptions(argv, SCHEMA.options);
  expectOperands(SCHEMA.name, positionals);
  const text =
    values.help === true ? SCHEMA_HELP : `${JSON.stringify(await configSchema(), null, 2)}\n`;
  io.stdout.write(text);
  return 0;
}
