import type { Moment } from '#src/http/moment.ts';
import { say, type Part, type Sentence } from '#src/http/sentence.ts';
import type { ProblemText, ProblemValues, Texts } from '#src/http/texts/en.ts';

/*
 * Every sentence of the pages in German. What other programs call their own buttons is left as it is:
 * not all of them have German names.
 */

const connect: Part = { b: 'Connect' };
const connectAgain = say`Kehren Sie zu Ihrer App zurück und klicken Sie noch einmal auf ${connect}.`;
const stillHere = 'Hilft das nicht? Schicken Sie die Referenz unten an Ihre Administration.';
const followedLink =
  'Sind Sie einem Link aus einer Nachricht gefolgt? Schließen Sie dieses Fenster.';
const updateAndConnect = 'Aktualisieren Sie die App und verbinden Sie sie noch einmal.';
const runInTerminal = 'Führen Sie dies in einem Terminal aus:';

/** The place where an app describes itself. */
function siteOf(host: string): Part {
  return host === '' ? 'die Website der App' : { host };
}

const problems: Texts['problems'] = {
  'unknown-client': ({ site, mcpUrl }: ProblemValues): ProblemText => ({
    title: 'Wir kennen diese App nicht',
    text: say`Die App, die Sie hierher geschickt hat, ist bei ${{ name: site }} nicht registriert oder wurde entfernt.`,
    steps: [
      say`Kehren Sie zu Ihrer App zurück und entfernen Sie dort die Verbindung zu ${{ name: site }}.`,
      say`Fügen Sie sie mit der Adresse ${{ host: mcpUrl }} wieder hinzu.`,
      stillHere,
    ],
  }),
  'blocked-client': ({ site }: ProblemValues): ProblemText => ({
    title: 'Diese App ist hier nicht zugelassen',
    text: say`Die Administration von ${{ name: site }} hat diese App gesperrt. Es wurde nichts weitergegeben.`,
    steps: [
      'Schließen Sie dieses Fenster.',
      'Brauchen Sie diese App? Fragen Sie Ihre Administration.',
    ],
  }),
  redirect: (_: ProblemValues): ProblemText => ({
    title: 'Zu Ihrer Sicherheit angehalten',
    text: 'Die App wollte Sie an eine Adresse schicken lassen, die sie nicht registriert hat. Wir haben Sie nicht dorthin geschickt und nichts weitergegeben.',
    steps: [
      followedLink,
      'Haben Sie das in Ihrer App begonnen? Aktualisieren Sie die App und verbinden Sie sie noch einmal.',
      stillHere,
    ],
  }),
  expired: (_: ProblemValues): ProblemText => ({
    title: 'Diese Anfrage ist abgelaufen',
    text: 'Sie hat zu lange gedauert oder wurde schon beantwortet. Deshalb haben wir sie geschlossen. Es wurde nichts weitergegeben.',
    steps: [
      'Kehren Sie zu Ihrer App zurück.',
      say`Klicken Sie noch einmal auf ${connect}. Das geht sofort.`,
    ],
  }),
  'other-browser': (_: ProblemValues): ProblemText => ({
    title: 'Diese Seite gehört zu einem anderen Browser',
    text: 'Sie wurde in einem anderen Browser begonnen, oder jemand hat Ihnen den Link geschickt. Es wurde nichts weitergegeben.',
    steps: [
      followedLink,
      say`Haben Sie das selbst begonnen? Kehren Sie zu Ihrer App zurück und klicken Sie noch einmal auf ${connect}.`,
      'Passiert es wieder? Erlauben Sie Cookies für diese Website.',
    ],
  }),
  'no-access': ({ site }: ProblemValues): ProblemText => ({
    title: 'Ihr Konto hat hier noch keine Rechte',
    text: say`Sie sind angemeldet, aber noch hat Ihnen niemand Zugriff auf ${{ name: site }} gegeben.`,
    steps: ['Bitten Sie Ihre Administration um Zugriff.', connectAgain],
  }),
  'document-unavailable': ({ host }: ProblemValues): ProblemText => ({
    title: 'Wir konnten diese App nicht prüfen',
    text: say`Wir konnten ${siteOf(host)} nicht erreichen, um festzustellen, wer da fragt. Mit Ihrem Konto ist alles in Ordnung.`,
    steps: [
      say`Warten Sie eine Minute und klicken Sie dann in Ihrer App noch einmal auf ${connect}.`,
      stillHere,
    ],
  }),
  'document-invalid': ({ host }: ProblemValues): ProblemText => ({
    title: 'Wir konnten diese App nicht prüfen',
    text: say`Was ${siteOf(host)} über diese App angibt, ist nicht gültig. Es wurde nichts weitergegeben.`,
    steps: [updateAndConnect, stillHere],
  }),
  'bad-request': (_: ProblemValues): ProblemText => ({
    title: 'Wir haben Ihre App nicht verstanden',
    text: 'In ihrer Anfrage fehlte etwas oder war falsch. Es wurde nichts weitergegeben.',
    steps: ['Aktualisieren Sie die App.', connectAgain, stillHere],
  }),
  busy: (_: ProblemValues): ProblemText => ({
    title: 'Zu viele Anfragen',
    text: 'Es gab in kurzer Zeit sehr viele Anfragen. Mit Ihrem Konto ist alles in Ordnung.',
    steps: ['Warten Sie einige Minuten.', connectAgain, stillHere],
  }),
  'login-unavailable': (_: ProblemValues): ProblemText => ({
    title: 'Gerade kann sich niemand anmelden',
    text: 'Wir konnten Ihr Passwort nicht prüfen, ob richtig oder falsch. Es wurde nichts weitergegeben.',
    steps: ['Warten Sie eine Minute.', connectAgain, stillHere],
  }),
  failed: (_: ProblemValues): ProblemText => ({
    title: 'Hier ist etwas schiefgegangen',
    text: 'Der Fehler liegt bei uns, nicht bei Ihnen. Es wurde nichts weitergegeben.',
    steps: ['Warten Sie eine Minute.', connectAgain, stillHere],
  }),
};

export const de: Texts = {
  locale: 'de-DE',
  justNow: 'gerade eben',

  layout: {
    skip: 'Zum Inhalt springen',
    nav: 'Hauptmenü',
    connect: 'Verbinden',
    addressBar: (host: string): Sentence =>
      say`Prüfen Sie, ob in der Adresszeile ${{ b: [{ host }] }} steht`,
    guarded: (site: string): Sentence => say`${{ name: site }} wird von Castellan bewacht`,
  },

  login: {
    pageTitle: 'Anmelden',
    pageTitleError: 'Fehler: Anmelden',
    title: (site: string): Sentence => say`Bei ${{ name: site }} anmelden`,
    asks: (client: string, site: string): Sentence =>
      say`${{ b: [{ name: client }] }} möchte sich mit ${{ b: [{ name: site }] }} verbinden`,
    asksUnverified: (client: string, site: string): Sentence =>
      say`Eine App, die sich „${{ b: [{ name: client }] }}“ nennt, möchte sich mit ${{ b: [{ name: site }] }} verbinden`,
    next: (returnTo: string): Sentence =>
      say`Auf der nächsten Seite legen Sie fest, was die App darf. Danach kehren Sie zu ${{ b: [{ host: returnTo }] }} zurück.`,
    credentials: {
      lead: 'Das hat nicht geklappt.',
      text: 'Benutzername und Passwort passen nicht zusammen. Bitte prüfen Sie beides und versuchen Sie es noch einmal.',
    },
    busy: {
      lead: 'Zu viele Versuche.',
      text: (retry: Moment): Sentence =>
        say`Die Anmeldung aus Ihrem Netzwerk ist vorübergehend gesperrt. Der nächste Versuch ist ab ${{ b: [{ time: retry.absolute, iso: retry.iso }] }} möglich, also ${retry.relative}.`,
      tryAgain: 'Noch einmal versuchen',
      notYou:
        'Waren Sie das nicht? Geben Sie Ihrer Administration Bescheid. Ihr Passwort wurde nicht geändert.',
    },
    username: 'Benutzername',
    password: 'Passwort',
    submit: 'Anmelden',
    cancel: (client: string): Sentence => say`Abbrechen und zu ${{ name: client }} zurückkehren`,
  },

  client: {
    unnamed: 'App ohne Namen',
    sameDomain: 'Dieselbe wie die geprüfte Domain',
    otherDomain: 'Nicht die geprüfte Domain',
    website: 'Eine Website',
    loopback: 'Ein Programm auf diesem Computer',
    privateUse: 'Öffnet eine App auf diesem Gerät',
    loopbackWarning: {
      lead: 'Jedes Programm auf Ihrem Computer könnte sich dafür ausgeben.',
      text: (client: string): Sentence =>
        say`Fahren Sie nur fort, wenn Sie ${{ name: client }} gerade eben selbst auf diesem Computer gestartet haben.`,
    },
    privateUseWarning: {
      lead: 'Ihr Gerät entscheidet, welche App diesen Link öffnet.',
      text: (client: string): Sentence =>
        say`Fahren Sie nur fort, wenn Sie das gerade eben in ${{ name: client }} begonnen haben.`,
    },
  },

  consent: {
    pageTitle: (client: string): string => `${client} verbinden?`,
    pageTitleError: (client: string): string => `Fehler: ${client} verbinden?`,
    title: (client: string, site: string): Sentence =>
      say`${{ name: client }} möchte sich mit ${{ name: site }} verbinden`,
    titleUnverified: (client: string, site: string): Sentence =>
      say`${{ line: say`Eine App, die sich „${{ name: client }}“ nennt,` }} möchte sich mit ${{ name: site }} verbinden`,
    signedIn: (user: string): Sentence => say`Angemeldet als ${{ b: [{ name: user }] }}.`,
    notYou: 'Nicht Sie?',
    nothingTicked: {
      lead: 'Es ist kein Häkchen gesetzt.',
      text: 'Setzen Sie mindestens ein Häkchen oder klicken Sie auf „Abbrechen“.',
    },
    whoAsks: 'Wer fragt',
    unverified: 'Ungeprüft',
    verifiedDomain: 'Geprüfte Domain',
    registeredItself: (at: Moment): Sentence =>
      say`Hat sich ${at.relative} selbst registriert (${{ time: at.absolute, iso: at.iso }})`,
    addedByAdministrator: 'Von Ihrer Administration hinzugefügt',
    whereSent: 'Wohin Sie zurückkehren',
    mayDo: (client: string): Sentence => say`Was ${{ name: client }} darf`,
    untick: 'Entfernen Sie das Häkchen bei allem, was Sie nicht erlauben möchten.',
    openTools: 'Offen für jede zugelassene App',
    openToolsText: 'Dafür ist keine eigene Berechtigung nötig.',
    until: (end: Moment): Sentence =>
      say`Für ${end.distance}, bis ${{ time: end.absolute, iso: end.iso }}.`,
    takeBack:
      'Sie können das jederzeit widerrufen. Wenden Sie sich einfach an Ihre Administration.',
    cancel: 'Abbrechen',
    allow: 'Erlauben',
    eitherWay: (returnTo: string): Sentence =>
      say`In beiden Fällen kehren Sie zu ${{ b: [{ host: returnTo }] }} zurück.`,
  },

  done: {
    pageTitle: (client: string): string => `Zurück zu ${client}`,
    title: (client: string, site: string): Sentence =>
      say`${{ name: client }} ist mit ${{ name: site }} verbunden`,
    text: 'Kehren Sie zur App zurück und legen Sie los. Danach können Sie dieses Fenster schließen.',
    titleCancelled: (client: string, site: string): Sentence =>
      say`${{ name: client }} ist nicht mit ${{ name: site }} verbunden`,
    textCancelled:
      'Sie haben abgebrochen, die App hat also keinen Zugriff. Sie können dieses Fenster schließen.',
    mayDo: 'Was die App darf',
    until: 'Gültig bis',
    signedInAs: 'Angemeldet als',
    returnTo: (client: string): Sentence => say`Zurück zu ${{ name: client }}`,
  },

  grants: {
    changes: 'Ändert Daten',
    tools: (amount: number): string => (amount === 1 ? '1 Werkzeug' : `${amount} Werkzeuge`),
    toolsIn: (title: string): string => `Werkzeuge für: ${title}`,
    tool: 'Werkzeug',
    does: 'Was es tut',
  },

  error: {
    refused: 'Abgelehnte Adresse',
    next: 'Was Sie jetzt tun können',
    details: 'Angaben für Ihre Administration',
    labels: { error: 'Fehler', client: 'App', time: 'Zeitpunkt', reference: 'Referenz' },
  },
  problems,

  notfound: {
    pageTitle: 'Seite nicht gefunden',
    title: 'Hier gibt es keine Seite',
    text: 'Die Adresse ist vielleicht veraltet oder vertippt. Mit Ihrem Konto ist alles in Ordnung.',
    connect: 'Eine App verbinden',
  },

  home: {
    pageTitle: 'Verbinden Sie Ihre KI-App',
    title: (site: string): Sentence => say`Verbinden Sie Ihre KI-App mit ${{ name: site }}`,
    lead: 'Drei Schritte, etwa eine Minute. Was die App darf, bestimmen Sie.',
    step1: '1. Adresse kopieren',
    step1Text:
      'Ihre App fragt einmal danach. Die Adresse ist nicht geheim, Sie können sie weitergeben.',
    address: 'Adresse dieses Servers',
    copy: say`Klicken Sie in ein graues Feld, drücken Sie ${{ key: 'Strg' }} ${{ key: 'A' }} (Mac: ${{ key: '⌘' }} ${{ key: 'A' }}) und kopieren Sie dann.`,
    status: 'Zustand',
    ready: 'Bereit',
    paused: 'Angehalten',
    name: 'Name',
    afterSignIn: 'Nach der Anmeldung',
    step2: '2. In der App hinzufügen',
    step2Text: 'Wählen Sie Ihre App, um die genauen Schritte zu sehen.',
    addTo: (app: string): string => `Zu ${app} hinzufügen`,
    step3: '3. Anmelden und auswählen',
    step3Text:
      'Ihre App öffnet diese Website. Sie melden sich an, legen fest, was die App darf, und kehren zu ihr zurück. Jeden Zugriff können Sie jederzeit widerrufen. Wenden Sie sich einfach an Ihre Administration.',
  },

  apps: {
    command: 'Befehl',
    contentsOf: (file: string): string => `Inhalt von ${file}`,
    unreachable: {
      lead: 'Nicht mit dieser Adresse.',
      text: say`Diese App verbindet sich aus dem Internet und braucht eine https-Adresse dieses Servers, die von dort erreichbar ist. Die Administration legt sie als ${{ code: 'publicUrl' }} fest.`,
    },
    claude: {
      where: 'Web, Desktop und Smartphone',
      open: (href: string): Sentence =>
        say`Öffnen Sie ${{ b: 'Customize' }} und dann ${{ link: 'Connectors', href }}.`,
      add: say`Klicken Sie auf ${{ b: '+' }} und wählen Sie ${{ b: 'Add custom connector' }}.`,
      enter: (site: string): Sentence =>
        say`Geben Sie den Namen ${{ b: [{ name: site }] }} und die Adresse von oben ein und klicken Sie auf ${{ b: 'Add' }}.`,
      connect: say`Klicken Sie auf ${connect} und melden Sie sich hier an.`,
      note: 'Bei Team- und Enterprise-Tarifen fügt ein Owner den Connector einmal für alle hinzu.',
    },
    chatgpt: {
      where: 'Web',
      open: say`Öffnen Sie ${{ b: 'Settings' }}, dann ${{ b: 'Apps' }}, dann ${{ b: 'Advanced settings' }}. Schalten Sie ${{ b: 'Developer mode' }} ein.`,
      add: say`Kehren Sie zu ${{ b: 'Apps' }} zurück und klicken Sie auf ${{ b: 'Create app' }}.`,
      enter: (site: string): Sentence =>
        say`Geben Sie den Namen ${{ b: [{ name: site }] }} und die Adresse von oben ein. Wählen Sie ${{ b: 'OAuth' }}.`,
      create: say`Klicken Sie auf ${{ b: 'Create' }} und melden Sie sich hier an.`,
      note: 'In einem Firmen-Workspace muss vielleicht erst die Administration den Entwicklermodus erlauben.',
    },
    vscode: {
      where: 'Agentenmodus in GitHub Copilot',
      press: 'Klicken Sie auf die Schaltfläche oder führen Sie dies in einem Terminal aus:',
      share: (file: string): Sentence =>
        say`Um es mit Ihrem Team zu teilen, schreiben Sie stattdessen dies in ${{ code: file }}:`,
      start: 'Starten Sie den Server und melden Sie sich hier an.',
    },
    cursor: {
      where: 'Desktop',
      press: (file: string): Sentence =>
        say`Klicken Sie auf die Schaltfläche oder schreiben Sie dies in ${{ code: file }}:`,
      signIn: (slug: string): Sentence =>
        say`Öffnen Sie ${{ b: 'Customize' }}, dann ${{ b: 'MCPs' }}, und melden Sie sich bei ${{ b: slug }} an.`,
    },
    claudeCode: {
      where: 'Terminal',
      run: runInTerminal,
      signIn: (slug: string): Sentence =>
        say`Starten Sie ${{ code: 'claude' }}, geben Sie ${{ code: '/mcp' }} ein und wählen Sie ${{ b: slug }} und ${{ b: 'Authenticate' }}.`,
    },
    inspector: {
      where: 'Für die Entwicklung',
      run: runInTerminal,
      connect: say`Wählen Sie ${{ b: 'Streamable HTTP' }}, geben Sie die Adresse von oben ein und klicken Sie auf ${connect}.`,
    },
  },
};
