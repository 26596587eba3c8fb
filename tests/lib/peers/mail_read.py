#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mails for tests/netns/*_mail_read.test.

mail_read.py make FOLDER NAME PATH [text]   FOLDER/NAME.eml with the file PATH attached in base64, under its own name; `text`: its body"""
import email.message
import email.policy
import os
import sys


def make(folder, name, path, text="hello"):
    mail = email.message.EmailMessage(policy=email.policy.SMTP)
    mail["From"] = "crane@lab.example"
    mail["To"] = "heron@lab.example"
    mail["Subject"] = name
    mail["Message-ID"] = f"<{name}@lab.example>"
    mail.set_content(text)
    with open(path, "rb") as file:
        mail.add_attachment(file.read(), maintype="application", subtype="octet-stream", filename=os.path.basename(path))
    with open(os.path.join(folder, f"{name}.eml"), "wb") as file:
        file.write(mail.as_bytes())


if __name__ == "__main__":
    make(*sys.argv[2:])
