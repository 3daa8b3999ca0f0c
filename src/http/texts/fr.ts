import type { Moment } from '#src/http/moment.ts';
import { say, type Part, type Sentence } from '#src/http/sentence.ts';
import type { ProblemText, ProblemValues, Texts } from '#src/http/texts/en.ts';

/*
 * Every sentence of the pages in French. The spaces that must not break are written as escapes, so
 * that a reviewer sees them: \u00A0 before a colon and inside guillemets, \u202F before `?` and `!`.
 * What other programs call their own buttons is left as it is.
 */

const connect: Part = { b: 'Connect' };
const connectAgain = say`Revenez à votre application et cliquez de nouveau sur ${connect}.`;
const stillHere =
  'Le problème persiste\u202F? Envoyez la référence ci-dessous à votre administrateur.';
const followedLink = 'Avez-vous suivi un lien reçu dans un message\u202F? Fermez cette fenêtre.';
const updateAndConnect = 'Mettez l’application à jour et connectez-la de nouveau.';
const runInTerminal = 'Exécutez ceci dans un terminal\u00A0:';

/** The place where an app describes itself. */
function siteOf(host: string): Part {
  return host === '' ? 'le site de l’application' : { host };
}

/** "jusqu’à 14:36 UTC", but "jusqu’au 28 février 2027". */
function upTo({ iso }: Moment): string {
  return iso.includes('T') ? 'jusqu’à' : 'jusqu’au';
}

const problems: Texts['problems'] = {
  'unknown-client': ({ site, mcpUrl }: ProblemValues): ProblemText => ({
    title: 'Nous ne connaissons pas cette application',
    text: say`L’application qui vous a envoyé ici n’est pas enregistrée auprès de ${{ name: site }}, ou a été retirée.`,
    steps: [
      say`Revenez à votre application et supprimez-y la connexion à ${{ name: site }}.`,
      say`Ajoutez-la de nouveau avec l’adresse ${{ host: mcpUrl }}.`,
      stillHere,
    ],
  }),
  'blocked-client': ({ site }: ProblemValues): ProblemText => ({
    title: 'Cette application n’est pas autorisée ici',
    text: say`L’administrateur de ${{ name: site }} a bloqué cette application. Rien n’a été transmis.`,
    steps: [
      'Fermez cette fenêtre.',
      'Avez-vous besoin de cette application\u202F? Demandez à votre administrateur.',
    ],
  }),
  redirect: (_: ProblemValues): ProblemText => ({
    title: 'Arrêt par mesure de sécurité',
    text: 'L’application a demandé de vous renvoyer à une adresse qu’elle n’a pas enregistrée. Vous n’y avez pas été redirigé, et rien n’a été transmis.',
    steps: [
      followedLink,
      'Avez-vous lancé ceci dans votre application\u202F? Mettez l’application à jour et connectez-la de nouveau.',
      stillHere,
    ],
  }),
  expired: (_: ProblemValues): ProblemText => ({
    title: 'Cette demande a expiré',
    text: 'Elle a pris trop de temps ou a déjà reçu une réponse, nous l’avons donc fermée. Rien n’a été transmis.',
    steps: [
      'Revenez à votre application.',
      say`Cliquez de nouveau sur ${connect}. Vous pouvez le faire dès maintenant.`,
    ],
  }),
  'other-browser': (_: ProblemValues): ProblemText => ({
    title: 'Cette page appartient à un autre navigateur',
    text: 'Elle a été ouverte dans un autre navigateur, ou quelqu’un vous a envoyé le lien. Rien n’a été transmis.',
    steps: [
      followedLink,
      say`Avez-vous lancé ceci vous-même\u202F? Revenez à votre application et cliquez de nouveau sur ${connect}.`,
      'Cela se reproduit\u202F? Autorisez les cookies pour ce site.',
    ],
  }),
  'no-access': ({ site }: ProblemValues): ProblemText => ({
    title: 'Votre compte n’a encore aucun droit ici',
    text: say`Vous êtes connecté, mais personne ne vous a encore donné accès à ${{ name: site }}.`,
    steps: ['Demandez un accès à votre administrateur.', connectAgain],
  }),
  'document-unavailable': ({ host }: ProblemValues): ProblemText => ({
    title: 'Nous n’avons pas pu vérifier cette application',
    text: say`Nous n’avons pas pu joindre ${siteOf(host)} pour confirmer qui fait la demande. Votre compte n’est pas en cause.`,
    steps: [
      say`Patientez une minute, puis cliquez de nouveau sur ${connect} dans votre application.`,
      stillHere,
    ],
  }),
  'document-invalid': ({ host }: ProblemValues): ProblemText => ({
    title: 'Nous n’avons pas pu vérifier cette application',
    text: say`Ce que ${siteOf(host)} indique sur cette application n’est pas valide. Rien n’a été transmis.`,
    steps: [updateAndConnect, stillHere],
  }),
  'bad-request': (_: ProblemValues): ProblemText => ({
    title: 'Nous n’avons pas compris votre application',
    text: 'Dans sa demande, un élément manquait ou était incorrect. Rien n’a été transmis.',
    steps: ['Mettez l’application à jour.', connectAgain, stillHere],
  }),
  busy: (_: ProblemValues): ProblemText => ({
    title: 'Trop de demandes',
    text: 'Nous avons reçu beaucoup de demandes en peu de temps. Votre compte n’est pas en cause.',
    steps: ['Patientez quelques minutes.', connectAgain, stillHere],
  }),
  'login-unavailable': (_: ProblemValues): ProblemText => ({
    title: 'Personne ne peut se connecter pour le moment',
    text: 'Nous n’avons pas pu vérifier votre mot de passe, qu’il soit juste ou non. Rien n’a été transmis.',
    steps: ['Patientez une minute.', connectAgain, stillHere],
  }),
  failed: (_: ProblemValues): ProblemText => ({
    title: 'Un problème est survenu ici',
    text: 'L’erreur vient de nous, pas de vous. Rien n’a été transmis.',
    steps: ['Patientez une minute.', connectAgain, stillHere],
  }),
};

export const fr: Texts = {
  locale: 'fr-FR',
  justNow: 'à l’instant',

  layout: {
    skip: 'Aller au contenu',
    nav: 'Menu principal',
    connect: 'Connecter',
    addressBar: (host: string): Sentence =>
      say`Vérifiez que la barre d’adresse affiche ${{ b: [{ host }] }}`,
    guarded: (site: string): Sentence => say`${{ name: site }} est sous la garde de Castellan`,
  },

  login: {
    pageTitle: 'Se connecter',
    pageTitleError: 'Erreur\u00A0: se connecter',
    title: (site: string): Sentence => say`Se connecter à ${{ name: site }}`,
    asks: (client: string, site: string): Sentence =>
      say`${{ b: [{ name: client }] }} souhaite se connecter à ${{ b: [{ name: site }] }}`,
    asksUnverified: (client: string, site: string): Sentence =>
      say`Une application qui se nomme «\u00A0${{ b: [{ name: client }] }}\u00A0» souhaite se connecter à ${{ b: [{ name: site }] }}`,
    next: (returnTo: string): Sentence =>
      say`Vous choisirez à la page suivante ce que l’application peut faire. Vous reviendrez ensuite à ${{ b: [{ host: returnTo }] }}.`,
    credentials: {
      lead: 'La connexion a échoué.',
      text: 'Le nom d’utilisateur et le mot de passe ne correspondent pas. Vérifiez-les et réessayez.',
    },
    busy: {
      lead: 'Trop de tentatives.',
      text: (retry: Moment): Sentence =>
        say`La connexion depuis votre réseau est suspendue. Prochaine tentative possible\u00A0: ${{ b: [{ time: retry.absolute, iso: retry.iso }] }}, ${retry.relative}.`,
      tryAgain: 'Réessayer',
      notYou:
        'Ce n’était pas vous\u202F? Prévenez votre administrateur. Votre mot de passe n’a pas été modifié.',
    },
    username: 'Nom d’utilisateur',
    password: 'Mot de passe',
    submit: 'Se connecter',
    cancel: (client: string): Sentence => say`Annuler et revenir à ${{ name: client }}`,
  },

  client: {
    unnamed: 'Application sans nom',
    sameDomain: 'Identique au domaine vérifié',
    otherDomain: 'Différent du domaine vérifié',
    website: 'Un site web',
    loopback: 'Un programme sur cet ordinateur',
    privateUse: 'Ouvre une application sur cet appareil',
    loopbackWarning: {
      lead: 'N’importe quel programme de votre ordinateur pourrait se faire passer pour cette application.',
      text: (client: string): Sentence =>
        say`Continuez seulement si vous venez de lancer ${{ name: client }} vous-même sur cet ordinateur.`,
    },
    privateUseWarning: {
      lead: 'C’est votre appareil qui décide quelle application ouvre ce lien.',
      text: (client: string): Sentence =>
        say`Continuez seulement si vous venez de lancer ceci dans ${{ name: client }}.`,
    },
  },

  consent: {
    pageTitle: (client: string): string => `Connecter ${client}\u202F?`,
    pageTitleError: (client: string): string => `Erreur\u00A0: connecter ${client}\u202F?`,
    title: (client: string, site: string): Sentence =>
      say`${{ name: client }} souhaite se connecter à ${{ name: site }}`,
    titleUnverified: (client: string, site: string): Sentence =>
      say`${{ line: say`Une application qui se nomme «\u00A0${{ name: client }}\u00A0»` }} souhaite se connecter à ${{ name: site }}`,
    signedIn: (user: string): Sentence => say`Connecté en tant que ${{ b: [{ name: user }] }}.`,
    notYou: 'Ce n’est pas vous\u202F?',
    nothingTicked: {
      lead: 'Aucune case n’est cochée.',
      text: 'Cochez au moins une case, ou cliquez sur «\u00A0Annuler\u00A0».',
    },
    whoAsks: 'Qui fait la demande',
    unverified: 'Non vérifiée',
    verifiedDomain: 'Domaine vérifié',
    registeredItself: (at: Moment): Sentence =>
      say`S’est enregistrée elle-même ${at.relative} (${{ time: at.absolute, iso: at.iso }})`,
    addedByAdministrator: 'Ajoutée par votre administrateur',
    whereSent: 'Où vous serez redirigé',
    mayDo: (client: string): Sentence => say`Ce que ${{ name: client }} peut faire`,
    untick: 'Décochez tout ce que vous ne souhaitez pas autoriser.',
    openTools: 'Ouvert à toute application admise',
    openToolsText: 'Aucune autorisation particulière n’est nécessaire.',
    until: (end: Moment): Sentence =>
      say`Pour ${end.distance}, ${upTo(end)} ${{ time: end.absolute, iso: end.iso }}.`,
    takeBack:
      'Vous pouvez retirer cet accès à tout moment. Il suffit de vous adresser à votre administrateur.',
    cancel: 'Annuler',
    allow: 'Autoriser',
    eitherWay: (returnTo: string): Sentence =>
      say`Dans les deux cas, vous reviendrez à ${{ b: [{ host: returnTo }] }}.`,
  },

  done: {
    pageTitle: (client: string): string => `Revenir à ${client}`,
    title: (client: string, site: string): Sentence =>
      say`La connexion de ${{ name: client }} à ${{ name: site }} est établie`,
    text: 'Revenez à l’application pour commencer. Vous pourrez ensuite fermer cette fenêtre.',
    titleCancelled: (client: string, site: string): Sentence =>
      say`La connexion de ${{ name: client }} à ${{ name: site }} n’est pas établie`,
    textCancelled:
      'Vous avez annulé, l’application n’a donc aucun accès. Vous pouvez fermer cette fenêtre.',
    mayDo: 'Ce qu’elle peut faire',
    until: 'Échéance',
    signedInAs: 'Compte',
    returnTo: (client: string): Sentence => say`Revenir à ${{ name: client }}`,
  },

  grants: {
    changes: 'Modifie des données',
    tools: (amount: number): string => (amount <= 1 ? `${amount} outil` : `${amount} outils`),
    toolsIn: (title: string): string => `Outils pour\u00A0: ${title}`,
    tool: 'Outil',
    does: 'Ce qu’il fait',
  },

  error: {
    refused: 'Adresse refusée',
    next: 'Que faire maintenant',
    details: 'Détails pour votre administrateur',
    labels: { error: 'Erreur', client: 'Application', time: 'Heure', reference: 'Référence' },
  },
  problems,

  notfound: {
    pageTitle: 'Page introuvable',
    title: 'Il n’y a pas de page ici',
    text: 'L’adresse est peut-être ancienne ou mal saisie. Votre compte n’est pas en cause.',
    connect: 'Connecter une application',
  },

  home: {
    pageTitle: 'Connectez votre application d’IA',
    title: (site: string): Sentence => say`Connectez votre application d’IA à ${{ name: site }}`,
    lead: 'Trois étapes, environ une minute. Vous gardez le contrôle de ce que l’application peut faire.',
    step1: '1. Copiez l’adresse',
    step1Text:
      'Votre application la demande une seule fois. Elle ne contient aucun secret, vous pouvez la partager.',
    address: 'Adresse de ce serveur',
    copy: say`Cliquez dans un cadre gris, appuyez sur ${{ key: 'Ctrl' }} ${{ key: 'A' }} (Mac\u00A0: ${{ key: '⌘' }} ${{ key: 'A' }}), puis copiez.`,
    status: 'État',
    ready: 'Prêt',
    paused: 'En pause',
    name: 'Nom',
    afterSignIn: 'Une fois connecté',
    step2: '2. Ajoutez-la à votre application',
    step2Text: 'Choisissez votre application pour voir les étapes exactes.',
    addTo: (app: string): string => `Ajouter à ${app}`,
    step3: '3. Connectez-vous et choisissez',
    step3Text:
      'Votre application ouvre ce site. Vous vous connectez, choisissez ce qu’elle peut faire, puis revenez à elle. Vous pouvez retirer chaque accès à tout moment. Il suffit de vous adresser à votre administrateur.',
  },

  apps: {
    command: 'Commande',
    contentsOf: (file: string): string => `Contenu de ${file}`,
    unreachable: {
      lead: 'Pas avec cette adresse.',
      text: say`Cette application se connecte depuis Internet et a besoin d’une adresse https de ce serveur, accessible de là-bas. L’administration la définit avec ${{ code: 'publicUrl' }}.`,
    },
    claude: {
      where: 'Web, ordinateur et téléphone',
      open: (href: string): Sentence =>
        say`Ouvrez ${{ b: 'Customize' }}, puis ${{ link: 'Connectors', href }}.`,
      add: say`Cliquez sur ${{ b: '+' }} et choisissez ${{ b: 'Add custom connector' }}.`,
      enter: (site: string): Sentence =>
        say`Saisissez le nom ${{ b: [{ name: site }] }} et l’adresse ci-dessus, puis cliquez sur ${{ b: 'Add' }}.`,
      connect: say`Cliquez sur ${connect}, puis connectez-vous ici.`,
      note: 'Avec les offres Team et Enterprise, un propriétaire ajoute le connecteur une fois pour tous.',
    },
    chatgpt: {
      where: 'Web',
      open: say`Ouvrez ${{ b: 'Settings' }}, puis ${{ b: 'Apps' }}, puis ${{ b: 'Advanced settings' }}. Activez ${{ b: 'Developer mode' }}.`,
      add: say`Revenez à ${{ b: 'Apps' }} et cliquez sur ${{ b: 'Create app' }}.`,
      enter: (site: string): Sentence =>
        say`Saisissez le nom ${{ b: [{ name: site }] }} et l’adresse ci-dessus. Choisissez ${{ b: 'OAuth' }}.`,
      create: say`Cliquez sur ${{ b: 'Create' }}, puis connectez-vous ici.`,
      note: 'Dans un espace de travail d’entreprise, un administrateur doit parfois d’abord autoriser le mode développeur.',
    },
    vscode: {
      where: 'Mode agent dans GitHub Copilot',
      press: 'Cliquez sur le bouton, ou exécutez ceci dans un terminal\u00A0:',
      share: (file: string): Sentence =>
        say`Pour partager avec votre équipe, mettez plutôt ceci dans ${{ code: file }}\u00A0:`,
      start: 'Démarrez le serveur, puis connectez-vous ici.',
    },
    cursor: {
      where: 'Ordinateur',
      press: (file: string): Sentence =>
        say`Cliquez sur le bouton, ou mettez ceci dans ${{ code: file }}\u00A0:`,
      signIn: (slug: string): Sentence =>
        say`Ouvrez ${{ b: 'Customize' }}, puis ${{ b: 'MCPs' }}, et connectez-vous à ${{ b: slug }}.`,
    },
    claudeCode: {
      where: 'Terminal',
      run: runInTerminal,
      signIn: (slug: string): Sentence =>
        say`Lancez ${{ code: 'claude' }}, saisissez ${{ code: '/mcp' }}, choisissez ${{ b: slug }} puis ${{ b: 'Authenticate' }}.`,
    },
    inspector: {
      where: 'Pour le développement',
      run: runInTerminal,
      connect: say`Choisissez ${{ b: 'Streamable HTTP' }}, saisissez l’adresse ci-dessus, puis cliquez sur ${connect}.`,
    },
  },
};
