"""What a patient registry writes in each of seven languages: headers, categories, remarks.

Headers come twice: as a hospital writes them out (`main`), and as another one abbreviates them
(`short`: capitals, abbreviations, no accents). The order is that of `CONCEPTS`.
"""

from __future__ import annotations

from dataclasses import dataclass

CONCEPTS = (
    *("record_number", "health_number", "surname", "first_name", "sex", "birth_date"),
    *("street", "house_number", "postcode", "city", "telephone", "mail", "nationality"),
    *("marital_status", "occupation", "insurance", "admission", "discharge", "ward"),
    *("physician", "diagnosis_code", "diagnosis", "weight", "height", "remarks", "deceased"),
)
# Text whose role a draft may leave open, in any language.
TEXTS = frozenset(
    {"occupation", "insurance", "ward", "diagnosis", "remarks"},
)
ICD = (
    *("I10", "E11.9", "J44.9", "I50.0", "C50.9", "K35.8", "F32.1", "N39.0", "I21.4", "J18.9"),
    *("M16.1", "S72.0"),
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language.

    Attributes:
        locale, short_locale: of Faker, for the main and for the abbreviated registry.
        main, short: the 26 headers, in the order of `CONCEPTS`.
        countries: nationalities, the most frequent first.
        diagnoses: the texts of `ICD`.
        remarks: `{name}` and `{phone}` stand for those of a person.
        doctor: what stands before a physician's name.
        dates: how the abbreviated registry writes a date.
    """

    language: str
    locale: str
    short_locale: str
    main: tuple[str, ...]
    short: tuple[str, ...]
    sexes: tuple[str, str]
    countries: tuple[str, ...]
    marital: tuple[str, ...]
    occupations: tuple[str, ...]
    insurances: tuple[str, ...]
    wards: tuple[str, ...]
    diagnoses: tuple[str, ...]
    remarks: tuple[str, ...]
    deceased: tuple[str, str]
    doctor: str
    dates: str


def _columns(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|"))


ENGLISH = Words(
    "English",
    "en_GB",
    "en_US",
    _columns(
        "Hospital number|NHS number|Surname|First name|Sex|Date of birth|Street|House number|"
        "Postcode|City|Telephone|Email|Nationality|Marital status|Occupation|Insurance type|"
        "Admission date|Discharge date|Ward|Attending physician|Diagnosis code|Diagnosis|"
        "Weight|Height|Remarks|Deceased"
    ),
    _columns(
        "MRN|SSN|LNAME|FNAME|GENDER|DOB|STREET_NM|HOUSE_NO|ZIP|TOWN|TEL_NO|EMAIL_ADDR|CITIZENSHIP|"
        "MAR_STAT|OCCUP|PAYER|ADM_DT|DISCH_DT|UNIT|ATT_MD|DX_CD|DX_DESC|WT_KG|HT_CM|COMMENTS|EXPIRED"
    ),
    ("male", "female"),
    _columns("British|Irish|Polish|Indian|Pakistani|Romanian|French"),
    _columns("single|married|divorced|widowed|separated"),
    _columns(
        "teacher|nurse|farmer|driver|engineer|accountant|cook|builder|clerk|cleaner|electrician|retired"
    ),
    _columns("statutory|private|self-pay"),
    _columns("Internal Medicine|Surgery|Cardiology|Oncology|Psychiatry|Orthopaedics"),
    _columns(
        "essential hypertension|type 2 diabetes|chronic obstructive pulmonary disease|"
        "heart failure|breast cancer|acute appendicitis|depressive episode|"
        "urinary tract infection|myocardial infarction|pneumonia|osteoarthritis of hip|"
        "fracture of neck of femur"
    ),
    _columns(
        "Daughter {name} can be reached on {phone}|Please inform GP Dr {name}|"
        "Allergic to penicillin|Call {phone} before discharge|No particular findings|"
        "Lives with {name}, who holds the keys"
    ),
    ("yes", "no"),
    "Dr",
    "%m/%d/%Y",
)
GERMAN = Words(
    "German",
    "de_DE",
    "de_AT",
    _columns(
        "Patientennummer|Krankenversichertennummer|Nachname|Vorname|Geschlecht|Geburtsdatum|"
        "Straße|Hausnummer|Postleitzahl|Wohnort|Telefon|E-Mail|Staatsangehörigkeit|"
        "Familienstand|Beruf|Versicherungsart|Aufnahmedatum|Entlassungsdatum|Station|"
        "Behandelnder Arzt|Diagnosecode|Diagnose|Gewicht|Größe|Bemerkungen|Verstorben"
    ),
    _columns(
        "PatNr|VersNr|FamName|VName|Gesch|GebDat|Anschrift|HausNr|PLZ|Ort|TelNr|eMailAdr|Staatsb|"
        "FamStand|Taetigkeit|VersArt|AufnDat|EntlDat|Abt|BehArzt|ICD|DiagText|Gew|Groesse|"
        "Bem|Verst"
    ),
    ("männlich", "weiblich"),
    _columns("deutsch|türkisch|polnisch|italienisch|rumänisch|syrisch|österreichisch"),
    _columns("ledig|verheiratet|geschieden|verwitwet|getrennt lebend"),
    _columns(
        "Lehrer|Pflegekraft|Landwirt|Kraftfahrer|Ingenieur|Buchhalter|Koch|Maurer|"
        "Sachbearbeiter|Reinigungskraft|Elektriker|Rentner"
    ),
    _columns("gesetzlich|privat|Selbstzahler"),
    _columns("Innere Medizin|Chirurgie|Kardiologie|Onkologie|Psychiatrie|Orthopädie"),
    _columns(
        "Essentielle Hypertonie|Diabetes mellitus Typ 2|COPD|Herzinsuffizienz|Brustkrebs|"
        "Akute Appendizitis|Depressive Episode|Harnwegsinfekt|Myokardinfarkt|Pneumonie|"
        "Koxarthrose|Schenkelhalsfraktur"
    ),
    _columns(
        "Tochter {name} unter {phone} erreichbar|Bitte Hausarzt Dr. {name} verständigen|"
        "Penicillinallergie|Vor Entlassung {phone} anrufen|Keine Besonderheiten|"
        "Wohnt bei {name}, die den Schlüssel hat"
    ),
    ("ja", "nein"),
    "Dr.",
    "%d.%m.%Y",
)
FRENCH = Words(
    "French",
    "fr_FR",
    "fr_FR",
    _columns(
        "Numéro de dossier|Numéro de sécurité sociale|Nom|Prénom|Sexe|Date de naissance|Rue|"
        "Numéro de rue|Code postal|Ville|Téléphone|Courriel|Nationalité|Situation familiale|"
        "Profession|Type d'assurance|Date d'entrée|Date de sortie|Service|Médecin traitant|"
        "Code diagnostic|Diagnostic|Poids|Taille|Remarques|Décédé"
    ),
    _columns(
        "IPP|NIR|Nom_jf|Pren|SEXE|DDN|Adresse|No_voie|CP|Commune|Tél.|Mel|Nationalite|Sit_mat|Prof|"
        "Regime|Dt_entree|Dt_sortie|UF|Med_ref|CIM10|Lib_diag|Pds|Tll|Observ|DCD"
    ),
    ("homme", "femme"),
    _columns("française|portugaise|algérienne|marocaine|italienne|belge|tunisienne"),
    _columns("célibataire|marié(e)|divorcé(e)|veuf/veuve|pacsé(e)"),
    _columns(
        "enseignant|infirmier|agriculteur|chauffeur|ingénieur|comptable|cuisinier|maçon|"
        "employé de bureau|agent d'entretien|électricien|retraité"
    ),
    _columns("régime général|mutuelle|aide médicale"),
    _columns("Médecine interne|Chirurgie|Cardiologie|Oncologie|Psychiatrie|Orthopédie"),
    _columns(
        "Hypertension essentielle|Diabète de type 2|BPCO|Insuffisance cardiaque|"
        "Cancer du sein|Appendicite aiguë|Épisode dépressif|Infection urinaire|"
        "Infarctus du myocarde|Pneumonie|Coxarthrose|Fracture du col du fémur"
    ),
    _columns(
        "Sa fille {name} est joignable au {phone}|Prévenir le Dr {name}|"
        "Allergie à la pénicilline|Appeler le {phone} avant la sortie|Rien à signaler|"
        "Vit chez {name}, qui a les clés"
    ),
    ("oui", "non"),
    "Dr",
    "%d/%m/%Y",
)
SPANISH = Words(
    "Spanish",
    "es_ES",
    "es_ES",
    _columns(
        "Número de historia clínica|DNI|Apellidos|Nombre|Sexo|Fecha de nacimiento|Calle|"
        "Número|Código postal|Municipio|Teléfono|Correo electrónico|Nacionalidad|"
        "Estado civil|Profesión|Tipo de seguro|Fecha de ingreso|Fecha de alta|Servicio|"
        "Médico responsable|Código de diagnóstico|Diagnóstico|Peso|Talla|Observaciones|"
        "Fallecido"
    ),
    _columns(
        "NHC|NUM_SS|APELL|NOMB|SEX|FEC_NAC|DIRECCION|NUM_PORTAL|CP|LOCALIDAD|TFNO|E_MAIL|PAIS_NAC|"
        "EST_CIVIL|OCUPACION|ASEGURADORA|F_INGR|F_ALTA|UNIDAD|FACULTATIVO|CIE10|DX_TEXTO|PESO_KG|"
        "ALTURA|OBS|EXITUS"
    ),
    ("hombre", "mujer"),
    _columns("española|marroquí|rumana|colombiana|ecuatoriana|italiana|peruana"),
    _columns("soltero/a|casado/a|divorciado/a|viudo/a|separado/a"),
    _columns(
        "maestro|enfermero|agricultor|conductor|ingeniero|contable|cocinero|albañil|"
        "administrativo|limpiador|electricista|jubilado"
    ),
    _columns("pública|privada|sin seguro"),
    _columns("Medicina interna|Cirugía|Cardiología|Oncología|Psiquiatría|Traumatología"),
    _columns(
        "Hipertensión esencial|Diabetes tipo 2|EPOC|Insuficiencia cardíaca|Cáncer de mama|"
        "Apendicitis aguda|Episodio depresivo|Infección urinaria|Infarto de miocardio|"
        "Neumonía|Coxartrosis|Fractura de cuello de fémur"
    ),
    _columns(
        "Su hija {name} atiende en el {phone}|Avisar al Dr. {name}|Alergia a la penicilina|"
        "Llamar al {phone} antes del alta|Sin incidencias|Vive con {name}, que tiene las llaves"
    ),
    ("sí", "no"),
    "Dra.",
    "%d/%m/%Y",
)
ITALIAN = Words(
    "Italian",
    "it_IT",
    "it_IT",
    _columns(
        "Numero cartella|Codice fiscale|Cognome|Nome|Sesso|Data di nascita|Via|Numero civico|"
        "CAP|Città|Telefono|E-mail|Nazionalità|Stato civile|Professione|Tipo di assicurazione|"
        "Data di ricovero|Data di dimissione|Reparto|Medico curante|Codice diagnosi|Diagnosi|"
        "Peso|Altezza|Note|Deceduto"
    ),
    _columns(
        "ID_PAZ|COD_FISC|COGN|NOM|SES|DT_NASC|INDIRIZZO|N_CIV|CAP_RES|COMUNE|CELL|MAIL|CITTADINANZA|"
        "ST_CIV|MESTIERE|REGIME_ASS|DT_RIC|DT_DIM|UO|MED_CUR|ICD_10|DESC_DIAG|PESO_KG|ALT_CM|ANNOT|"
        "MORTO"
    ),
    ("maschio", "femmina"),
    _columns("italiana|rumena|albanese|marocchina|cinese|ucraina|peruviana"),
    _columns("celibe/nubile|coniugato/a|divorziato/a|vedovo/a|separato/a"),
    _columns(
        "insegnante|infermiere|agricoltore|autista|ingegnere|ragioniere|cuoco|muratore|"
        "impiegato|addetto alle pulizie|elettricista|pensionato"
    ),
    _columns("servizio sanitario|privata|a pagamento"),
    _columns("Medicina interna|Chirurgia|Cardiologia|Oncologia|Psichiatria|Ortopedia"),
    _columns(
        "Ipertensione essenziale|Diabete di tipo 2|BPCO|Scompenso cardiaco|"
        "Tumore della mammella|Appendicite acuta|Episodio depressivo|Infezione urinaria|"
        "Infarto miocardico|Polmonite|Coxartrosi|Frattura del collo del femore"
    ),
    _columns(
        "La figlia {name} risponde al {phone}|Avvisare il dott. {name}|"
        "Allergia alla penicillina|Chiamare {phone} prima della dimissione|"
        "Nulla da segnalare|Vive con {name}, che ha le chiavi"
    ),
    ("sì", "no"),
    "Dott.",
    "%d/%m/%Y",
)
DUTCH = Words(
    "Dutch",
    "nl_NL",
    "nl_BE",
    _columns(
        "Patiëntnummer|Burgerservicenummer|Achternaam|Voornaam|Geslacht|Geboortedatum|Straat|"
        "Huisnummer|Postcode|Woonplaats|Telefoon|E-mailadres|Nationaliteit|"
        "Burgerlijke staat|Beroep|Verzekeringsvorm|Opnamedatum|Ontslagdatum|Afdeling|"
        "Behandelend arts|Diagnosecode|Diagnose|Gewicht|Lengte|Opmerkingen|Overleden"
    ),
    _columns(
        "patNr|rijksregNr|famNaam|voorNm|gesl|gebDat|adres|huisNr|pcode|gemeente|gsm|mailAdr|nat|"
        "burgStaat|functie|verzSoort|opnDat|ontslDat|dienst|behArts|icdCode|diagOmschr|gewKg|"
        "lengteCm|opm|overl"
    ),
    ("man", "vrouw"),
    _columns("Nederlandse|Turkse|Marokkaanse|Poolse|Duitse|Surinaamse|Belgische"),
    _columns("ongehuwd|gehuwd|gescheiden|weduwe/weduwnaar|geregistreerd partnerschap"),
    _columns(
        "leraar|verpleegkundige|landbouwer|chauffeur|ingenieur|boekhouder|kok|metselaar|"
        "administratief medewerker|schoonmaker|elektricien|gepensioneerd"
    ),
    _columns("basisverzekering|aanvullend|onverzekerd"),
    _columns("Interne geneeskunde|Chirurgie|Cardiologie|Oncologie|Psychiatrie|Orthopedie"),
    _columns(
        "Essentiële hypertensie|Diabetes type 2|COPD|Hartfalen|Borstkanker|"
        "Acute appendicitis|Depressieve episode|Urineweginfectie|Hartinfarct|Longontsteking|"
        "Heupartrose|Heupfractuur"
    ),
    _columns(
        "Dochter {name} is bereikbaar op {phone}|Huisarts dr. {name} inlichten|"
        "Allergisch voor penicilline|Bel {phone} voor ontslag|Geen bijzonderheden|"
        "Woont bij {name}, die de sleutel heeft"
    ),
    ("ja", "nee"),
    "Dr.",
    "%d-%m-%Y",
)
PORTUGUESE = Words(
    "Portuguese",
    "pt_PT",
    "pt_BR",
    _columns(
        "Número do processo|Número de utente|Apelido|Nome próprio|Sexo|Data de nascimento|Rua|"
        "Número da porta|Código postal|Localidade|Telefone|Correio eletrónico|Nacionalidade|"
        "Estado civil|Profissão|Tipo de seguro|Data de admissão|Data de alta|Serviço|"
        "Médico assistente|Código de diagnóstico|Diagnóstico|Peso|Altura|Observações|Falecido"
    ),
    _columns(
        "PRONTUARIO|CPF|SOBRENOME|NOME|SEXO|DT_NASC|LOGRADOURO|NUM|CEP|MUNICIPIO|FONE|EMAIL|NACION|"
        "EST_CIV|OCUP|CONVENIO|DT_INTERN|DT_ALTA|SETOR|MEDICO_RESP|CID10|DESC_CID|PESO_KG|ALT_CM|"
        "OBS|OBITO"
    ),
    ("masculino", "feminino"),
    _columns("portuguesa|brasileira|angolana|cabo-verdiana|ucraniana|moçambicana|francesa"),
    _columns("solteiro(a)|casado(a)|divorciado(a)|viúvo(a)|união de facto"),
    _columns(
        "professor|enfermeiro|agricultor|motorista|engenheiro|contabilista|cozinheiro|"
        "pedreiro|administrativo|empregado de limpeza|eletricista|reformado"
    ),
    _columns("SNS|seguro privado|particular"),
    _columns("Medicina interna|Cirurgia|Cardiologia|Oncologia|Psiquiatria|Ortopedia"),
    _columns(
        "Hipertensão essencial|Diabetes tipo 2|DPOC|Insuficiência cardíaca|Cancro da mama|"
        "Apendicite aguda|Episódio depressivo|Infeção urinária|Enfarte do miocárdio|"
        "Pneumonia|Coxartrose|Fratura do colo do fémur"
    ),
    _columns(
        "A filha {name} atende no {phone}|Avisar o Dr. {name}|Alergia à penicilina|"
        "Ligar para {phone} antes da alta|Nada a assinalar|Vive com {name}, que tem a chave"
    ),
    ("sim", "não"),
    "Dr.",
    "%d/%m/%Y",
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, DUTCH, PORTUGUESE)
