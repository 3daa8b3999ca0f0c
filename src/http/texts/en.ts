import type { Moment } from '#src/http/moment.ts';
import { say, type Part, type Sentence } from '#src/http/sentence.ts';

/*
 * Every sentence of the pages in English. A further language is one file that satisfies `Texts` and
 * one line in `language.ts`.
 */

/** What an error page says about one kind of problem. */
export type ProblemText = {
  readonly title: string;
  readonly text: Sentence;
  readonly steps: readonly Sentence[];
};

/** The values an error page may mention; `host` is empty where it is not known. */
export type ProblemValues = {
  readonly site: string;
  readonly mcpUrl: string;
  readonly host: string;
};

const connect: Part = { b: 'Connect' };
const connectAgain = say`Go back to your app and press ${connect} again.`;
const stillHere = 'Still here? Send the reference below to your administrator.';
const followedLink = 'Did you follow a link from a message? Close this window.';
const runInTerminal = 'Run this in a terminal:';

/** The place where an app describes itself. */
function siteOf(host: string): Part {
  return host === '' ? 'its website' : { host };
}

const problems = {
  'unknown-client': ({ site, mcpUrl }: ProblemValues): ProblemText => ({
    title: 'We do not know this app',
    text: say`The app that sent you here is not registered with ${{ name: site }}, or was removed.`,
    steps: [
      say`Go back to your app and remove the connection to ${{ name: site }}.`,
      say`Add it again with the address ${{ host: mcpUrl }}.`,
      stillHere,
    ],
  }),
  'blocked-client': ({ site }: ProblemValues): ProblemText => ({
    title: 'This app is not allowed here',
    text: say`The administrator of ${{ name: site }} has blocked this app. Nothing was shared.`,
    steps: ['Close this window.', 'Do you need this app? Ask your administrator.'],
  }),
  redirect: (_: ProblemValues): ProblemText => ({
    title: 'Stopped for your safety',
    text: 'The app asked us to send you to an address that it did not register. You were not sent there, and nothing was shared.',
    steps: [
      followedLink,
      'Did you start this in your app? Update the app and connect again.',
      stillHere,
    ],
  }),
  expired: (_: ProblemValues): ProblemText => ({
    title: 'This request has expired',
    text: 'It took too long or was used before, so we closed the request. Nothing was shared.',
    steps: ['Go back to your app.', say`Press ${connect} again. You can use it right away.`],
  }),
  'other-browser': (_: ProblemValues): ProblemText => ({
    title: 'This page belongs to another browser',
    text: 'It was started in a different browser, or somebody sent you the link. Nothing was shared.',
    steps: [
      followedLink,
      say`Did you start this yourself? Go back to your app and press ${connect} again.`,
      'Does it happen again? Allow cookies for this site.',
    ],
  }),
  'no-access': ({ site }: ProblemValues): ProblemText => ({
    title: 'Your account may not do anything here yet',
    text: say`You are signed in, but nobody has given you access to ${{ name: site }} yet.`,
    steps: ['Ask your administrator for access.', connectAgain],
  }),
  'document-unavailable': ({ host }: ProblemValues): ProblemText => ({
    title: 'We could not check this app',
    text: say`We could not reach ${siteOf(host)} to confirm who is asking. Your account is fine.`,
    steps: [say`Wait a minute, then press ${connect} in your app again.`, stillHere],
  }),
  'document-invalid': ({ host }: ProblemValues): ProblemText => ({
    title: 'We could not check this app',
    text: say`What ${siteOf(host)} says about this app is not valid. Nothing was shared.`,
    steps: ['Update the app and connect again.', stillHere],
  }),
  'bad-request': (_: ProblemValues): ProblemText => ({
    title: 'We did not understand your app',
    text: 'Something was missing or wrong in its request. Nothing was shared.',
    steps: ['Update the app.', connectAgain, stillHere],
  }),
  busy: (_: ProblemValues): ProblemText => ({
    title: 'Too many requests',
    text: 'There were a lot of requests in a short time. Your account is fine.',
    steps: ['Wait a few minutes.', connectAgain, stillHere],
  }),
  'login-unavailable': (_: ProblemValues): ProblemText => ({
    title: 'Nobody can sign in just now',
    text: 'We could not check your password, right or wrong. Nothing was shared.',
    steps: ['Wait a minute.', connectAgain, stillHere],
  }),
  failed: (_: ProblemValues): ProblemText => ({
    title: 'Something went wrong here',
    text: 'The mistake is ours, not yours. Nothing was shared.',
    steps: ['Wait a minute.', connectAgain, stillHere],
  }),
};

export const en = {
  /** For dates and numbers: the day comes before the month. */
  locale: 'en-GB',
  justNow: 'just now',

  layout: {
    skip: 'Skip to content',
    nav: 'Main',
    connect: 'Connect',
    addressBar: (host: string): Sentence =>
      say`Check that the address bar shows ${{ b: [{ host }] }}`,
    guarded: (site: string): Sentence => say`${{ name: site }} is guarded by Castellan`,
  },

  login: {
    pageTitle: 'Sign in',
    pageTitleError: 'Error: sign in',
    title: (site: string): Sentence => say`Sign in to ${{ name: site }}`,
    asks: (client: string, site: string): Sentence =>
      say`${{ b: [{ name: client }] }} wants to connect to ${{ b: [{ name: site }] }}`,
    asksUnverified: (client: string, site: string): Sentence =>
      say`An app that calls itself “${{ b: [{ name: client }] }}” wants to connect to ${{ b: [{ name: site }] }}`,
    next: (returnTo: string): Sentence =>
      say`You choose what it may do on the next page. Then you return to ${{ b: [{ host: returnTo }] }}.`,
    credentials: {
      lead: 'That did not work.',
      text: 'The user name and password do not match. Check both and try again.',
    },
    busy: {
      lead: 'Too many attempts.',
      text: (retry: Moment): Sentence =>
        say`Signing in from your network is paused. You can try again at ${{ b: [{ time: retry.absolute, iso: retry.iso }] }}, ${retry.relative}.`,
      tryAgain: 'Try again',
      notYou: 'Was this not you? Tell your administrator. Your password was not changed.',
    },
    username: 'User name',
    password: 'Password',
    submit: 'Sign in',
    cancel: (client: string): Sentence => say`Cancel and return to ${{ name: client }}`,
  },

  client: {
    unnamed: 'Unnamed app',
    sameDomain: 'Same as the verified domain',
    otherDomain: 'Not the verified domain',
    website: 'A website',
    loopback: 'A program on this computer',
    privateUse: 'Opens an app on this device',
    loopbackWarning: {
      lead: 'Any program on your computer could pretend to be it.',
      text: (client: string): Sentence =>
        say`Continue only if you started ${{ name: client }} yourself, on this computer, a moment ago.`,
    },
    privateUseWarning: {
      lead: 'Your device decides which app opens this link.',
      text: (client: string): Sentence =>
        say`Continue only if you started this in ${{ name: client }} a moment ago.`,
    },
  },

  consent: {
    pageTitle: (client: string): string => `Connect ${client}?`,
    pageTitleError: (client: string): string => `Error: connect ${client}?`,
    title: (client: string, site: string): Sentence =>
      say`${{ name: client }} wants to connect to ${{ name: site }}`,
    titleUnverified: (client: string, site: string): Sentence =>
      say`${{ line: say`An app that calls itself “${{ name: client }}”` }} wants to connect to ${{ name: site }}`,
    signedIn: (user: string): Sentence => say`Signed in as ${{ b: [{ name: user }] }}.`,
    notYou: 'Not you?',
    nothingTicked: {
      lead: 'Nothing is ticked.',
      text: 'Tick at least one thing, or press Cancel.',
    },
    whoAsks: 'Who is asking',
    unverified: 'Unverified',
    verifiedDomain: 'Verified domain',
    registeredItself: (at: Moment): Sentence =>
      say`Registered itself ${at.relative} (${{ time: at.absolute, iso: at.iso }})`,
    addedByAdministrator: 'Added by your administrator',
    whereSent: 'Where you will be sent',
    mayDo: (client: string): Sentence => say`What ${{ name: client }} may do`,
    untick: 'Untick anything you do not want to allow.',
    openTools: 'Open to every app that is allowed in',
    openToolsText: 'These need no permission of their own.',
    until: (end: Moment): Sentence =>
      say`For ${end.distance}, until ${{ time: end.absolute, iso: end.iso }}.`,
    takeBack: 'You can take it back any time. Just ask your administrator.',
    cancel: 'Cancel',
    allow: 'Allow',
    eitherWay: (returnTo: string): Sentence =>
      say`Either way, you return to ${{ b: [{ host: returnTo }] }}.`,
  },

  done: {
    pageTitle: (client: string): string => `Return to ${client}`,
    title: (client: string, site: string): Sentence =>
      say`${{ name: client }} is connected to ${{ name: site }}`,
    text: 'Return to the app to start working. Then you can close this window.',
    titleCancelled: (client: string, site: string): Sentence =>
      say`${{ name: client }} is not connected to ${{ name: site }}`,
    textCancelled: 'You cancelled, so it has no access. You can close this window.',
    mayDo: 'What it may do',
    until: 'Until',
    signedInAs: 'Signed in as',
    returnTo: (client: string): Sentence => say`Return to ${{ name: client }}`,
  },

  grants: {
    changes: 'Changes data',
    tools: (amount: number): string => (amount === 1 ? '1 tool' : `${amount} tools`),
    toolsIn: (title: string): string => `Tools in: ${title}`,
    tool: 'Tool',
    does: 'What it does',
  },

  error: {
    refused: 'Address that was refused',
    next: 'What to do next',
    details: 'Details for your administrator',
    labels: { error: 'Error', client: 'Client', time: 'Time', reference: 'Reference' },
  },
  problems,

  notfound: {
    pageTitle: 'Page not found',
    title: 'There is no page here',
    text: 'The address may be old or mistyped. Nothing is wrong with your account.',
    connect: 'Connect an app',
  },

  home: {
    pageTitle: 'Connect your AI app',
    title: (site: string): Sentence => say`Connect your AI app to ${{ name: site }}`,
    lead: 'Three steps, about a minute. You stay in control of what the app may do.',
    step1: '1. Copy the address',
    step1Text: 'Your app asks for it once. It holds no secret, so you can share it.',
    address: 'Address of this server',
    copy: say`Click in a grey box, press ${{ key: 'Ctrl' }} ${{ key: 'A' }} (Mac: ${{ key: '⌘' }} ${{ key: 'A' }}), then copy.`,
    status: 'Status',
    ready: 'Ready',
    paused: 'Paused',
    name: 'Name',
    afterSignIn: 'After you sign in',
    step2: '2. Add it to your app',
    step2Text: 'Choose your app to see the exact steps.',
    addTo: (app: string): string => `Add to ${app}`,
    step3: '3. Sign in and choose',
    step3Text:
      'Your app opens this site. You sign in, choose what it may do, and go back. You can take back every access any time. Just ask your administrator.',
  },

  apps: {
    command: 'Command',
    contentsOf: (file: string): string => `Contents of ${file}`,
    unreachable: {
      lead: 'Not with this address.',
      text: say`This app connects from the internet and needs an https address of this server that can be reached from there. Administrators set it as ${{ code: 'publicUrl' }}.`,
    },
    claude: {
      where: 'Web, desktop and phone',
      open: (href: string): Sentence =>
        say`Open ${{ b: 'Customize' }}, then ${{ link: 'Connectors', href }}.`,
      add: say`Press ${{ b: '+' }} and choose ${{ b: 'Add custom connector' }}.`,
      enter: (site: string): Sentence =>
        say`Enter the name ${{ b: [{ name: site }] }} and the address above, then press ${{ b: 'Add' }}.`,
      connect: say`Press ${{ b: 'Connect' }}, then sign in here.`,
      note: 'On Team and Enterprise plans an owner adds the connector once for everybody.',
    },
    chatgpt: {
      where: 'Web',
      open: say`Open ${{ b: 'Settings' }}, then ${{ b: 'Apps' }}, then ${{ b: 'Advanced settings' }}. Turn on ${{ b: 'Developer mode' }}.`,
      add: say`Go back to ${{ b: 'Apps' }} and press ${{ b: 'Create app' }}.`,
      enter: (site: string): Sentence =>
        say`Enter the name ${{ b: [{ name: site }] }} and the address above. Choose ${{ b: 'OAuth' }}.`,
      create: say`Press ${{ b: 'Create' }}, then sign in here.`,
      note: 'In a company workspace an administrator may have to allow developer mode first.',
    },
    vscode: {
      where: 'Agent mode in GitHub Copilot',
      press: 'Press the button, or run this in a terminal:',
      share: (file: string): Sentence =>
        say`To share it with your team, put this in ${{ code: file }} instead:`,
      start: 'Start the server, then sign in here.',
    },
    cursor: {
      where: 'Desktop',
      press: (file: string): Sentence => say`Press the button, or put this in ${{ code: file }}:`,
      signIn: (slug: string): Sentence =>
        say`Open ${{ b: 'Customize' }}, then ${{ b: 'MCPs' }}, and sign in to ${{ b: slug }}.`,
    },
    claudeCode: {
      where: 'Terminal',
      run: runInTerminal,
      signIn: (slug: string): Sentence =>
        say`Start ${{ code: 'claude' }}, type ${{ code: '/mcp' }}, choose ${{ b: slug }} and ${{ b: 'Authenticate' }}.`,
    },
    inspector: {
      where: 'For developers',
      run: runInTerminal,
      connect: say`Choose ${{ b: 'Streamable HTTP' }}, enter the address above, and press ${connect}.`,
    },
  },
};

/** What a further language has to say. */
export type Texts = typeof en;
