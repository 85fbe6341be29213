import { createServer, type Server } from 'node:net';
import type { Clock } from '../clock';
import type { Limits } from '../limits';
import type { Log } from '../log';
import { Application } from './application';
import type { Command } from './command';
import { Routes } from './routes';

/** What the SIP side does for applications. */
export interface CommandHandler {
  sip(command: Command, application: Application): void;
  proxy(command: Command, application: Application): void;
  /** An application is gone; what it left open must be ended. */
  gone(application: Application): void;
}

/** Accepts applications and sorts their commands. */
export class ControlServer {
  readonly routes = new Routes();
  readonly #server: Server;
  readonly #applications = new Set<Application>();
  readonly #handler: CommandHandler;
  readonly #log: Log;

  constructor(options: {
    readonly secret: string;
    readonly welcome: () => string;
    readonly handler: CommandHandler;
    readonly clock: Clock;
    readonly limits: Limits;
    readonly log: Log;
  }) {
    this.#handler = options.handler;
    this.#log = options.log;
    this.#server = createServer((socket) => {
      if (this.#applications.size >= options.limits.applications) {
        socket.destroy();
        return;
      }
      const application = new Application(socket, { ...options, sink: this.#sink });
      this.#applications.add(application);
    });
    this.#server.on('error', (error) => this.#log.error({ err: error }, 'control port failed'));
  }

  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, exclusive: true }, () => {
        this.#server.off('error', reject);
        const bound = this.#server.address();
        resolve(typeof bound === 'object' && bound ? bound.port : port);
      });
    });
  }

  close(): Promise<void> {
    for (const application of [...this.#applications]) application.close('the server ends');
    return new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
    });
  }

  readonly #sink = {
    authenticated: (): void => {
      this.#log.info({ applications: this.#applications.size }, 'application connected');
    },
    command: (command: Command, application: Application): void => {
      try {
        this.#run(command, application);
      } catch (error) {
        this.#log.error({ err: error, command: command.name }, 'command failed');
        application.reply(command.id, 'NOK|internal server error');
      }
    },
    gone: (application: Application, reason: string): void => {
      this.#applications.delete(application);
      this.routes.removeAll(application);
      this.#handler.gone(application);
      this.#log.info({ reason, applications: this.#applications.size }, 'application gone');
    },
  };

  #run(command: Command, application: Application): void {
    const [first = ''] = command.tokens;
    switch (command.name) {
      case 'sip':
        this.#handler.sip(command, application);
        break;
      case 'proxy':
        this.#handler.proxy(command, application);
        break;
      case 'ping':
        application.reply(command.id, 'OK|pong');
        break;
      case 'route':
        this.routes.add(first, application);
        application.reply(command.id, 'OK');
        break;
      case 'remove_route':
        this.routes.remove(first, application);
        application.reply(command.id, 'OK');
        break;
      default:
        application.reply(command.id, 'NO|Unknown message type');
        application.close('an unknown command');
    }
  }
}
